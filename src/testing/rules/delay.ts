import type { Chunk } from '../../canonical.ts';
import { openStream } from '../reading.ts';
import { type Setting, settle } from '../setting.ts';
import { Source } from '../source.ts';

const pieces = 200;
const patience_ms = 1000;

/** Of a long text, whose upstream pauses before its end, something reaches the reader in the pause at the latest. */
export async function checkDelay(setting: Setting): Promise<void> {
  if (setting.holds_all) return;
  const way = await setting.begin(true);
  let go: (inTime: boolean) => void = () => {};
  let paused = false;
  const gone = new Promise<boolean>(resolve => {
    go = resolve;
  });
  let timer: NodeJS.Timeout | undefined;
  const pause = async () => {
    paused = true;
    timer = setTimeout(go, patience_ms, false);
    await gone;
  };
  const stream = openStream(setting, way, new Source(longText(), pause));
  try {
    for await (const { choices } of stream)
      if (choices.some(({ delta }) => delta.content || delta.reasoning)) go(true);
    if (!paused || (await gone)) return;
    const problem = 'hands nothing on before the reply has ended, so that its stream is none';
    const cut = `a pause of ${patience_ms} ms after ${pieces} pieces of text`;
    throw setting.breach({ rule: 'delay', cut, problem, expected: 'some text', got: 'none' });
  } finally {
    clearTimeout(timer);
    settle(way);
  }
}

const longText = (): Chunk[] =>
  Array.from({ length: pieces }, (_, at) => ({
    choices: [{ index: 0, delta: { content: `word ${at} ` }, finish_reason: null }],
  }));
