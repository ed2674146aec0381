import type { Chunk } from '../../canonical.ts';
import type { ReadFixture } from '../arrivals.ts';
import { hangs, openStream } from '../reading.ts';
import { type Setting, settle } from '../setting.ts';
import { Source } from '../source.ts';
import { within } from '../turn.ts';

/** A reader that leaves, after whatever chunk, closes the source at once, and `cancel` throws nothing. */
export async function checkLeaving(setting: Setting, { name, chunks_json }: ReadFixture): Promise<void> {
  for (let after = 1; ; after++) {
    const source = new Source(JSON.parse(chunks_json) as Chunk[]);
    const where = { fixture: name, cut: `the reader leaves after its chunk ${after}` };
    const way = await setting.begin(true);
    const stream = openStream(setting, way, source);
    const leave = async (): Promise<boolean> => {
      for (let read = 0; read < after; read++) if ((await stream.next()).done) return false;
      await stream.return?.();
      return true;
    };
    try {
      const left = await within(setting.timeout_ms, leave(), () =>
        hangs(setting, 'leaving', where, 'does not let its reader leave'),
      );
      if (!left) return;
      const { cancelFault: got } = setting;
      if (got !== undefined)
        throw setting.breach({
          rule: 'leaving',
          ...where,
          problem: 'throws when its reader leaves',
          expected: 'no throw',
          got,
        });
      if (source.closed) continue;
      const problem = 'leaves its source open when its reader leaves: the upstream would go on';
      throw setting.breach({ rule: 'leaving', ...where, problem, expected: 'closed', got: 'open' });
    } finally {
      settle(way);
    }
  }
}
