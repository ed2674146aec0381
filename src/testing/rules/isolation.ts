import type { Chunk } from '../../canonical.ts';
import type { ReadFixture } from '../arrivals.ts';
import { differenceOf } from '../difference.ts';
import { hangs, openStream, readWhole } from '../reading.ts';
import { resultOf } from '../result.ts';
import { type Setting, settle } from '../setting.ts';
import { within } from '../turn.ts';
import { valuesOf } from './cuts.ts';

/** Two replies that are read at the same time, a chunk of each in turns, come out as each does alone. */
export async function checkIsolation(setting: Setting, one: ReadFixture, other: ReadFixture): Promise<void> {
  const cut = `beside ${other.name}, at the same time`;
  const where = { fixture: one.name, cut };
  const alone = resultOf(
    await readWhole(setting, one.whole.open(setting.pause), { fixture: one.name, cut: 'uncut' }),
  );
  const together = await within(setting.timeout_ms, readBeside(setting, one, other), () =>
    hangs(setting, 'isolation', where, 'its stream does not end'),
  );
  const found = differenceOf(alone, resultOf(together), true);
  if (!found) return;
  const problem = `mixes replies that are read at the same time: ${found.what}`;
  throw setting.breach({ rule: 'isolation', ...where, problem, ...valuesOf(found) });
}

async function readBeside(setting: Setting, one: ReadFixture, other: ReadFixture): Promise<Chunk[]> {
  const chunks: Chunk[] = [];
  const way = await setting.begin(true);
  const otherWay = await setting.begin(true);
  try {
    const stream = openStream(setting, way, one.whole.open(setting.pause));
    const beside = openStream(setting, otherWay, other.whole.open(setting.pause));
    while (true) {
      const [result] = await Promise.all([stream.next(), beside.next()]);
      if (!result.done) chunks.push(result.value);
      else {
        await beside.return?.();
        return chunks;
      }
    }
  } finally {
    settle(way);
    settle(otherWay);
  }
}
