import type { Chunk } from '../../canonical.ts';
import type { ReadFixture } from '../arrivals.ts';
import { hangs, openStream } from '../reading.ts';
import { type Setting, settle } from '../setting.ts';
import { Source } from '../source.ts';
import { turn, within } from '../turn.ts';

/**
 * While its reader asks for nothing, at most `read_ahead` chunks are read of the source, or enqueued by the stage. What it takes while
 * its reader waits is not limited: it may need several chunks to make one.
 */
export async function checkBackPressure(setting: Setting, { name, chunks_json }: ReadFixture): Promise<void> {
  const way = await setting.begin(true);
  let reads = 0;
  const stream = openStream(setting, way, new Source(JSON.parse(chunks_json) as Chunk[]), () => {
    reads++;
  });
  const slowly = async () => {
    for (let yielded = 0; ; yielded++) {
      const before = reads + stream.late;
      await turn();
      await turn();
      const ahead = reads + stream.late - before;
      if (ahead > setting.read_ahead) {
        const cut = `a slow reader, after ${yielded} chunks`;
        const problem =
          'reads ahead while its reader asks for nothing, so that a slow client fills the memory';
        const expected = `at most ${setting.read_ahead} reads`;
        throw setting.breach({
          rule: 'back-pressure',
          fixture: name,
          cut,
          problem,
          expected,
          got: `${ahead} reads`,
        });
      }
      if ((await stream.next()).done) return;
    }
  };
  const where = { fixture: name, cut: 'a slow reader' };
  try {
    await within(setting.timeout_ms, slowly(), () =>
      hangs(setting, 'back-pressure', where, 'its stream does not end'),
    );
  } finally {
    await stream.return?.();
    settle(way);
  }
}
