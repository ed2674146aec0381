import type { Completion } from '../../canonical.ts';
import { meteredReply } from '../../settlement/stream-meter.ts';
import type { ReadFixture } from '../arrivals.ts';
import { differenceOf, usageDifference } from '../difference.ts';
import { readWhole } from '../reading.ts';
import { resultOf, resultOfReply } from '../result.ts';
import { type Setting, settle } from '../setting.ts';
import { valuesOf } from './cuts.ts';

/** The reply that is not streamed says the same as the stream. */
export async function checkWholeReplies(setting: Setting, fixture: ReadFixture): Promise<void> {
  const { name, whole, reply } = fixture;
  if (!reply) return;
  const where = { fixture: name, cut: 'not streamed' };
  const streamed = resultOf(
    await readWhole(setting, whole.open(setting.pause), { fixture: name, cut: whole.cut }),
  );
  const shaped = resultOfReply(await throughOnReply(setting, structuredClone(reply), where));
  const found =
    differenceOf(streamed, shaped) ?? usageDifference(reply.usage && streamed.usage, shaped.usage);
  if (!found) return;
  const problem = `onReply does not agree with onStream: ${found.what}`;
  throw setting.breach({ rule: 'whole-replies', ...where, problem, ...valuesOf(found) });
}

async function throughOnReply(
  setting: Setting,
  reply: Completion,
  where: { fixture: string; cut: string },
): Promise<Completion> {
  const way = await setting.begin(false);
  try {
    return await way.passage.onReply(
      await meteredReply(way.exchange, Promise.resolve(reply), setting.metrics),
    );
  } catch (fault) {
    way.passage.onError(fault);
    const problem = 'throws at a reply that has no fault';
    throw setting.breach({ rule: 'refusals', ...where, problem, expected: 'no throw', got: fault }, fault);
  } finally {
    settle(way);
  }
}
