import { setImmediate as turn } from 'node:timers/promises';
import type { Chunk } from '../../gateway/exchange/canonical.ts';
import type { ReadFixture } from '../arrivals.ts';
import { throughStage } from '../reading.ts';
import type { Setting } from '../setting.ts';
import { Source } from '../source.ts';

/** A reader that leaves, after any number of chunks, closes the source at once, and `cancel` throws nothing. */
export async function checkLeaving(setting: Setting, { name, whole }: ReadFixture): Promise<void> {
  for (let after = 1; ; after++) {
    const source = new Source(whole.chunks());
    const place = { fixture: name, cut: `the reader leaves after its chunk ${after}` };
    const left = await throughStage(setting, 'leaving', place, source, async stream => {
      for (let read = 0; read < after; read++) if ((await stream.next()).done) return false;
      await stream.return();
      return true;
    });
    if (!left) return;
    const { cancelFault: got } = setting.watch;
    if (got !== undefined)
      throw setting.breach('leaving', place, 'throws when its reader leaves', { expected: 'no throw', got });
    if (source.closed) continue;
    const problem = 'leaves its source open when its reader leaves: the upstream would go on';
    throw setting.breach('leaving', place, problem, { expected: 'closed', got: 'open' });
  }
}

/**
 * While its reader asks for nothing, the stage reads or enqueues at most `read_ahead` chunks. While its reader waits, there is no limit:
 * it may need several chunks to make one.
 */
export async function checkBackPressure(setting: Setting, { name, whole }: ReadFixture): Promise<void> {
  const source = new Source(whole.chunks());
  const place = { fixture: name, cut: 'a slow reader' };
  await throughStage(setting, 'back-pressure', place, source, async stream => {
    for (let yielded = 0; ; yielded++) {
      const before = source.reads + stream.late;
      await turn();
      await turn();
      const ahead = source.reads + stream.late - before;
      if (ahead > setting.options.read_ahead) {
        const cut = `${place.cut}, after ${yielded} chunks`;
        const problem =
          'reads ahead while its reader asks for nothing, so that a slow client fills the memory';
        const values = { expected: `at most ${setting.options.read_ahead} reads`, got: `${ahead} reads` };
        throw setting.breach('back-pressure', { ...place, cut }, problem, values);
      }
      if ((await stream.next()).done) return;
    }
  });
}

const pieces = 200;
const patience_ms = 1000;
const cut = `a pause of ${patience_ms} ms after ${pieces} pieces of text`;

/** Some of a long text reaches the reader before its end, at the latest while the upstream pauses there. */
export async function checkDelay(setting: Setting): Promise<void> {
  if (setting.options.holds_all) return;
  const { promise: said, resolve } = Promise.withResolvers<boolean>();
  const source = new Source(longText(), at => {
    if (at < pieces) return;
    const timer = setTimeout(resolve, patience_ms, false);
    return said.then(() => clearTimeout(timer));
  });
  const read = async (stream: AsyncIterable<Chunk>) => {
    for await (const { choices } of stream)
      if (choices.some(({ delta }) => delta.content || delta.reasoning)) resolve(true);
    // A stage may have ended the stream before the pause.
    resolve(true);
    if (await said) return;
    const problem = 'hands nothing on before the reply has ended, so that its stream is none';
    throw setting.breach('delay', { cut }, problem, { expected: 'some text', got: 'none' });
  };
  await throughStage(setting, 'delay', { cut }, source, read, setting.options.timeout_ms + patience_ms);
}

const longText = (): Chunk[] =>
  Array.from({ length: pieces }, (_, at) => ({
    choices: [{ index: 0, delta: { content: `word ${at} ` }, finish_reason: null }],
  }));
