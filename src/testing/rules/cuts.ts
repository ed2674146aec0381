import type { Chunk } from '../../canonical.ts';
import type { ReadFixture } from '../arrivals.ts';
import { type Difference, differenceOf, lossOf, usageDifference } from '../difference.ts';
import { readWhole } from '../reading.ts';
import { resultOf } from '../result.ts';
import type { Setting } from '../setting.ts';

/** Nothing is lost, doubled, moved or invented, and however the reply is cut, the same comes out. */
export async function checkCuts(setting: Setting, fixture: ReadFixture): Promise<void> {
  const { name, whole, cuts, chunks_json } = fixture;
  const given = resultOf(JSON.parse(chunks_json) as Chunk[]);
  const uncut = resultOf(
    await readWhole(setting, whole.open(setting.pause), { fixture: name, cut: whole.cut }),
  );
  const told = given.usageIsPartial || setting.changes.has('usage') ? undefined : given.usage;
  const loss = lossOf(given, uncut, setting.changes) ?? usageDifference(told, uncut.usage);
  if (loss) {
    const problem = `does not hand on what the upstream sent: ${loss.what}`;
    throw setting.breach({
      rule: 'conservation',
      fixture: name,
      cut: whole.cut,
      problem,
      ...valuesOf(loss),
    });
  }
  for (const { cut, open } of cuts) {
    const result = resultOf(await readWhole(setting, open(setting.pause), { fixture: name, cut }));
    // What is estimated beside a partial figure may be rounded in other places.
    const usage = given.usageIsPartial ? undefined : uncut.usage;
    const found = differenceOf(uncut, result, true) ?? usageDifference(usage, result.usage);
    if (!found) continue;
    const problem = `the result depends on how the reply is cut: ${found.what}`;
    throw setting.breach({ rule: 'same-result', fixture: name, cut, problem, ...valuesOf(found) });
  }
}

/** Of a difference what a message shows on lines of their own. */
export const valuesOf = ({ expected, got }: Difference) => ({ expected, got });
