import type { Chunk } from '../../canonical.ts';
import { refusal } from '../../errors.ts';
import type { ReadFixture } from '../arrivals.ts';
import { lossOf } from '../difference.ts';
import { readThrough } from '../reading.ts';
import { resultOf } from '../result.ts';
import type { Setting } from '../setting.ts';
import { Source } from '../source.ts';
import { valuesOf } from './cuts.ts';

/** All that came before a fault is handed on, then the same fault is rethrown, wherever the stream breaks. */
export async function checkFaults(setting: Setting, { name, chunks_json }: ReadFixture): Promise<void> {
  const count = (JSON.parse(chunks_json) as Chunk[]).length;
  for (let after = 0; after <= count; after++) {
    const given = (JSON.parse(chunks_json) as Chunk[]).slice(0, after);
    const where = { fixture: name, cut: `a fault after ${after} of ${count} chunks` };
    const fault = refusal('provider_broke_off');
    const before = resultOf(structuredClone(given));
    const breaking = async () => {
      await setting.pause();
      throw fault;
    };
    const reading = await readThrough(setting, new Source(given, breaking), where);
    if (!reading.failed) {
      const problem = "swallows the upstream's fault, so that a broken reply looks complete";
      throw setting.breach({
        rule: 'faults',
        ...where,
        problem,
        expected: fault,
        got: 'an end without fault',
      });
    }
    if (reading.fault !== fault) {
      const problem = "does not rethrow the upstream's fault but another";
      throw setting.breach({ rule: 'faults', ...where, problem, expected: fault, got: reading.fault });
    }
    const loss = lossOf(before, resultOf(reading.chunks), setting.changes);
    if (!loss) continue;
    const problem = `hands on something else before a fault than what came before it: ${loss.what}`;
    throw setting.breach({ rule: 'faults', ...where, problem, ...valuesOf(loss) });
  }
}
