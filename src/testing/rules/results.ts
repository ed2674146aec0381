import type { Chunk, Completion } from '../../gateway/exchange/canonical.ts';
import { refusal } from '../../gateway/exchange/errors.ts';
import { meteredReply } from '../../gateway/settlement/stream-meter.ts';
import { ContractError, type Place } from '../contract-error.ts';
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
    await setting.afterwards();
    const problem = held(setting, loss.what) ?? `does not hand on what the upstream sent: ${loss.what}`;
    throw setting.breach('conservation', { fixture: name, cut: whole.cut }, problem, loss);
  }
  // What is estimated beside a partial figure may be rounded in other places.
  const usage = given.usageIsPartial ? undefined : uncut.usage;
  // Without a transformer nothing sees the cuts.
  if (!setting.stages.some(({ onStream }) => onStream)) return;
  for (const arrival of cuts) {
    const result = resultOf(await readWhole(setting, name, arrival));
    const found = differenceOf(uncut, result, true) ?? usageDifference(usage, result.usage);
    if (!found) continue;
    await checkAgain(setting, { name, whole, uncut }, 'a second time');
    const problem = `the result depends on how the reply is cut: ${found.what}`;
    throw setting.breach('same-result', { fixture: name, cut: arrival.cut }, problem, found);
  }
}

/** The problem of a transformer that holds chunks back and has no `flush`, if that is the problem. */
function held({ watch }: Setting, what: string): string | undefined {
  const [stage] = watch.holding;
  if (stage === undefined) return undefined;
  return `the transformer of ${stage} holds chunks back and has no flush, which enqueues them at the end and before a fault: ${what}`;
}

/** A reply comes out as it did before, whatever became of other exchanges. */
async function checkAgain(
  setting: Setting,
  { name, whole, uncut }: Pick<Case, 'name' | 'whole' | 'uncut'>,
  cut: string,
): Promise<void> {
  const found = differenceOf(uncut, resultOf(await readWhole(setting, name, { ...whole, cut })), true);
  if (!found) return;
  const problem = `keeps something of one exchange for the next, so that a reply comes out differently: ${found.what}; state of a stream belongs into what onStream returns`;
  throw setting.breach('isolation', { fixture: name, cut }, problem, found);
}

/** Nothing is left over from a stream that its reader has left, or that has failed. */
export async function checkLeftovers(setting: Setting, fixture: Case): Promise<void> {
  const { name, whole } = fixture;
  const half = Math.ceil(whole.chunks().length / 2);
  const place = { fixture: name, cut: 'left in the middle' };
  await throughStage(setting, 'leaving', place, new Source(whole.chunks()), async stream => {
    for (let read = 0; read < half; read++) if ((await stream.next()).done) return;
  });
  await checkAgain(setting, fixture, 'after a stream that its reader has left');
  const failing = new Source(whole.chunks(), at => {
    if (at === half) throw refusal('provider_broke_off');
  });
  await readThrough(setting, { fixture: name, cut: 'failing in the middle' }, failing);
  await checkAgain(setting, fixture, 'after a stream that has failed');
}

/** The reply that is not streamed says the same as the stream. */
export async function checkWholeReplies(setting: Setting, { name, uncut, reply }: Case): Promise<void> {
  if (!reply) return;
  const place = { fixture: name, cut: 'not streamed' };
  const shaped = resultOfReply(await throughOnReply(setting, place, structuredClone(reply)));
  const found = differenceOf(uncut, shaped) ?? usageDifference(reply.usage && uncut.usage, shaped.usage);
  if (!found) return;
  const both = 'onReply does not agree with onStream (expected is what streams become, got whole replies)';
  const problem = `${onlyOneHook(setting) ?? both}: ${found.what}`;
  throw setting.breach('whole-replies', place, problem, found);
}

/** The problem of a stage that has one hook of two that must say the same. */
function onlyOneHook({ stages }: Setting): string | undefined {
  const stage = stages.find(({ onReply, onStream }) => !onReply !== !onStream);
  if (!stage) return undefined;
  return stage.onStream
    ? `${stage.name} changes streams and not whole replies: it has onStream and no onReply`
    : `${stage.name} changes whole replies and not streams: it has onReply and no onStream`;
}

/** What comes out of the stage for a reply that is not streamed. */
export async function throughOnReply(setting: Setting, place: Place, reply: Completion): Promise<Completion> {
  const run = await setting.begin(false, place);
  try {
    const metered = meteredReply(run.exchange, reply, setting.metrics);
    const shaped = await run.chain.onReply(metered);
    setting.checkWatch(place);
    return shaped;
  } catch (got) {
    if (got instanceof ContractError) throw got;
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
    const problem =
      held(setting, loss.what) ??
      `hands on something else before a fault than what came before it: ${loss.what}`;
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
