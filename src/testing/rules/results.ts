import type { Chunk, Completion } from '../../canonical.ts';
import { refusal } from '../../errors.ts';
import { meteredReply } from '../../settlement/stream-meter.ts';
import type { Place } from '../contract-error.ts';
import { differenceOf, lossOf, usageDifference } from '../difference.ts';
import { type Case, readThrough, readWhole, throughStage } from '../reading.ts';
import { resultOf, resultOfReply } from '../result.ts';
import { type Setting, settle } from '../setting.ts';
import { Source } from '../source.ts';

/** Nothing is lost, doubled, moved or invented, and the result does not depend on how the reply is cut. */
export async function checkCuts(setting: Setting, { name, whole, cuts, uncut }: Case): Promise<void> {
  const given = resultOf(whole.chunks());
  const sent = given.usageIsPartial || setting.changes.has('usage') ? undefined : given.usage;
  const loss = lossOf(given, uncut, setting.changes) ?? usageDifference(sent, uncut.usage);
  if (loss) {
    const problem = `does not hand on what the upstream sent: ${loss.what}`;
    throw setting.breach('conservation', { fixture: name, cut: whole.cut }, problem, loss);
  }
  // What is estimated beside a partial figure may be rounded in other places.
  const usage = given.usageIsPartial ? undefined : uncut.usage;
  for (const arrival of cuts) {
    const result = resultOf(await readWhole(setting, name, arrival));
    const found = differenceOf(uncut, result, true) ?? usageDifference(usage, result.usage);
    if (!found) continue;
    const problem = `the result depends on how the reply is cut: ${found.what}`;
    throw setting.breach('same-result', { fixture: name, cut: arrival.cut }, problem, found);
  }
}

/** The reply that is not streamed says the same as the stream. */
export async function checkWholeReplies(setting: Setting, { name, uncut, reply }: Case): Promise<void> {
  if (!reply) return;
  const place = { fixture: name, cut: 'not streamed' };
  const shaped = resultOfReply(await throughOnReply(setting, place, structuredClone(reply)));
  const found = differenceOf(uncut, shaped) ?? usageDifference(reply.usage && uncut.usage, shaped.usage);
  if (!found) return;
  const problem = `onReply does not agree with onStream: ${found.what}`;
  throw setting.breach('whole-replies', place, problem, found);
}

async function throughOnReply(setting: Setting, place: Place, reply: Completion): Promise<Completion> {
  const run = await setting.begin(false);
  try {
    const metered = await meteredReply(run.exchange, Promise.resolve(reply), setting.metrics);
    return await run.chain.onReply(metered);
  } catch (got) {
    run.chain.onError(got);
    const problem = 'throws at a reply that has no fault';
    throw setting.breach('refusals', place, problem, { expected: 'no throw', got });
  } finally {
    settle(run);
  }
}

/** All that came before a fault is passed on, then the same fault is rethrown, wherever the stream breaks. */
export async function checkFaults(setting: Setting, { name, whole }: Case): Promise<void> {
  const count = whole.chunks().length;
  for (let after = 0; after <= count; after++) {
    const place = { fixture: name, cut: `a fault after ${after} of ${count} chunks` };
    const fault = refusal('provider_broke_off');
    const source = new Source(whole.chunks(), async at => {
      if (at < after) return;
      await setting.pause();
      throw fault;
    });
    const { chunks, fault: seen } = await readThrough(setting, place, source);
    if (!seen) {
      const problem = "swallows the upstream's fault, so that a broken reply looks complete";
      throw setting.breach('faults', place, problem, { expected: fault, got: 'an end without fault' });
    }
    if (seen.thrown !== fault) {
      const problem = "does not rethrow the upstream's fault but another";
      throw setting.breach('faults', place, problem, { expected: fault, got: seen.thrown });
    }
    const before = resultOf(whole.chunks().slice(0, after));
    const loss = lossOf(before, resultOf(chunks), setting.changes);
    if (!loss) continue;
    const problem = `hands on something else before a fault than what came before it: ${loss.what}`;
    throw setting.breach('faults', place, problem, loss);
  }
}

/** Two replies that are read at the same time, a chunk of each in turns, come out as each does alone. */
export async function checkIsolation(setting: Setting, { name, whole, uncut, beside }: Case): Promise<void> {
  const place = { fixture: name, cut: `beside ${beside.name}, at the same time` };
  const run = throughStage.bind(undefined, setting, 'isolation', place);
  const chunks: Chunk[] = [];
  await run(new Source(whole.chunks()), one =>
    run(new Source(beside.whole.chunks()), async other => {
      while (true) {
        const [result] = await Promise.all([one.next(), other.next()]);
        if (result.done) return;
        chunks.push(result.value);
      }
    }),
  );
  const found = differenceOf(uncut, resultOf(chunks), true);
  if (!found) return;
  const problem = `mixes replies that are read at the same time: ${found.what}`;
  throw setting.breach('isolation', place, problem, found);
}
