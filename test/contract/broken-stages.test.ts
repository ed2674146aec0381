import { describe, expect, it } from '@jest/globals';
import { auth, errorEnvelope, reasoningSplit, redact } from '../../plugins/index.ts';
import { refusal } from '../../src/plugin.ts';
import {
  ContractError,
  type ContractOptions,
  checkStage,
  type StageUnderTest,
  streamFixtures,
} from '../../src/testing/index.ts';
import * as broken from './broken-stages.ts';

/** What `checkStage` throws, with the fixtures of these names. */
async function breachOf(
  stage: StageUnderTest,
  names: readonly string[],
  options: ContractOptions = {},
): Promise<ContractError> {
  const fixtures = names.map(name => streamFixtures.find(fixture => fixture.name === name)!);
  const thrown = await checkStage(stage, { fixtures, ...options }).catch(error => error);
  expect(thrown).toBeInstanceOf(ContractError);
  return thrown as ContractError;
}

const texts = 'text of choice 0 (in these texts';

/** The rule that is broken, how the problem begins, and with which fixture and cut it shows; the fixture is `plain-text` unless it is named. */
type Row = [
  StageUnderTest,
  rule: string,
  problem: string,
  cut?: string | undefined,
  fixture?: string | undefined,
];

const losing: readonly Row[] = [
  [broken.losesTheTail, 'conservation', 'finish_reason of choice 0'],
  [broken.doublesAChunk, 'conservation', texts],
  [broken.answersFirst, 'conservation', texts, 'uncut', 'reasoning-field'],
  [broken.endsEarly, 'conservation', 'order of kinds of choice 0'],
  [broken.endsEarly, 'conservation', texts, 'uncut', 'text-then-tool-call'],
  [broken.doublesTheEnd, 'conservation', 'number of chunks with a finish_reason of choice 0'],
  [broken.saysStop, 'conservation', 'finish_reason of choice 0', 'uncut', 'length-finish'],
  [broken.dropsRefusals, 'conservation', 'refusal of choice 0', 'uncut', 'refusal'],
  [broken.dropsRoles, 'conservation', 'role of choice 0'],
  [broken.dropsToolCalls, 'conservation', 'tool_calls of choice 0', 'uncut', 'tool-calls-mixed'],
  [broken.dropsLogprobs, 'conservation', 'logprobs of choice 0', 'uncut', 'logprobs'],
  [broken.dropsUsage, 'conservation', 'usage', 'uncut', 'usage-running'],
  [broken.roundsUsage, 'conservation', 'usage', 'uncut', 'usage-running'],
];
const lost = losing.map(
  ([stage, rule, what, cut, fixture]): Row => [
    stage,
    rule,
    `does not hand on what the upstream sent: ${what}`,
    cut,
    fixture,
  ],
);

const afterSome = (chunks: number) => `a fault after ${chunks} of 5 chunks`;
const atFaults = 'hands on something else before a fault than what came before it: ';
const early = 'missing_api_key before there is an account or a body';

const rows: readonly Row[] = [
  ...lost,
  [broken.yieldsNoChunk, 'conservation', 'yields what is no chunk'],
  [
    broken.splitsByPiece,
    'same-result',
    'the result depends on how the reply is cut: reasoning of choice 0',
    'content of chunk 1, choice 0, at character 1',
    'think-tags',
  ],
  [broken.throwsInOnReply, 'refusals', 'throws at a reply that has no fault', 'not streamed', 'tool-call'],
  [broken.losesTheTailAtFaults, 'faults', atFaults + texts, afterSome(2)],
  [broken.inventsAFinish, 'faults', `${atFaults}finish_reason of choice 0`, afterSome(0)],
  [broken.swallowsTheFault, 'faults', "swallows the upstream's fault", afterSome(5)],
  [broken.throwsAnotherFault, 'faults', "does not rethrow the upstream's fault but another", afterSome(0)],
  [broken.neverEnds, 'ending', 'its stream does not end'],
  [broken.failsToLetGo, 'leaving', 'throws when its reader leaves', 'the reader leaves after its chunk 1'],
  [
    broken.collectsEverything,
    'delay',
    'hands nothing on before',
    'a pause of 1000 ms after 200 pieces of text',
    '',
  ],
  [broken.throwsInOnError, 'errors', 'onError of throws-in-on-error throws', early, ''],
  [broken.returnsNoError, 'errors', 'onError of returns-no-error returns something else', early, ''],
  [
    broken.throwsInOnSettled,
    'settlement',
    'onSettled of throws-in-on-settled throws',
    'a throw in onHeaders of a stage behind it',
    '',
  ],
];

const nameOf = (stage: StageUnderTest) => ('plan' in stage ? stage.plan.name : '');

describe('checkStage with a stage that breaks the contract', () => {
  it('says in its message what was expected and what came', async () => {
    expect((await breachOf(broken.doublesAChunk, ['plain-text'])).message).toBe(
      [
        'doubles-a-chunk: does not hand on what the upstream sent: text of choice 0 (in these texts | stands for a think tag, or for the place where reasoning turns into content) (conservation)',
        '  fixture   plain-text',
        '  cut       uncut',
        '  expected  "Rivers bend because water is lazy."',
        '  got       "RiversRivers bend because water is lazy."',
      ].join('\n'),
    );
  });

  it.each(rows.map(row => [nameOf(row[0]), ...row] as const))(
    'reports the breach and its place: %s',
    async (subject, stage, rule, problem, cut = 'uncut', fixture = 'plain-text') => {
      const options = rule === 'ending' ? { timeout_ms: 500 } : {};
      const breach = await breachOf(stage, [fixture || 'plain-text'], options);
      expect(breach).toMatchObject({ subject, rule, cut, ...(fixture && { fixture }) });
      expect(breach.problem.slice(0, problem.length)).toBe(problem);
    },
  );

  it('reports a stage that reads ahead', async () => {
    const breach = await breachOf(broken.readsEverythingAhead, ['plain-text']);
    expect(breach).toMatchObject({ rule: 'back-pressure', fixture: 'plain-text' });
    expect(breach.cut).toMatch(/^a slow reader, after [0-2] chunks$/);
    expect(breach.message).toMatch(
      /reads ahead while its reader asks for nothing.*\n.*\n.*\n {2}expected {2}"at most 1 reads"\n {2}got {7}"\d reads"$/,
    );
  });

  it('reports a stage that mixes replies', async () => {
    expect(await breachOf(broken.mixesReplies, ['plain-text', 'multi-byte'])).toMatchObject({
      rule: 'isolation',
      subject: 'mixes-replies',
      fixture: 'plain-text',
      cut: 'beside multi-byte, at the same time',
      problem: 'mixes replies that are read at the same time: content of choice 0',
      expected: 'Rivers bend because water is lazy.',
    });
  });

  it('reports text that changes with the cut or only in streams, even when the stage may change texts', async () => {
    const changes = ['text'] as const;
    expect((await breachOf(broken.greetsEveryPiece, ['plain-text'], { changes })).message).toBe(
      [
        'greets-every-piece: the result depends on how the reply is cut: content of choice 0 (same-result)',
        '  fixture   plain-text',
        '  cut       content of chunk 1, choice 0, at character 1',
        '  expected  "Rivers! bend because! water is lazy.!"',
        '  got       "R!ivers! bend because! water is lazy.!"',
      ].join('\n'),
    );
    expect((await breachOf(broken.shoutsInStreams, ['plain-text'], { changes })).message).toBe(
      [
        'shouts-in-streams: shouts-in-streams changes streams and not whole replies: it has onStream and no onReply: content of choice 0 (whole-replies)',
        '  fixture   plain-text',
        '  cut       not streamed',
        '  expected  "RIVERS BEND BECAUSE WATER IS LAZY."',
        '  got       "Rivers bend because water is lazy."',
      ].join('\n'),
    );
  });

  it('reports a stage that changes whole replies only', async () => {
    expect((await breachOf(broken.shoutsInReplies, ['plain-text'])).problem).toBe(
      'shouts-in-replies changes whole replies and not streams: it has onReply and no onStream: content of choice 0',
    );
  });

  it.each([
    [broken.repliesInOnHeaders, 'a reply from onHeaders: it takes no result; refuse by throwing', 'uncut'],
    [broken.deniesWithFalse, 'a boolean from onRequest: return a reply or a stream of chunks', 'uncut'],
    [broken.returnsTheRequest, 'the request from onRequest: return a reply or a stream of chunks', 'uncut'],
    [broken.repliesNothing, 'nothing from onReply: return the reply to pass on', 'not streamed'],
    [broken.streamsAChunk, 'a chunk from onStream: return a transformer', 'uncut'],
    [broken.streamsAnArray, 'an array from onStream: return a transformer', 'uncut'],
    [broken.streamsAPromise, 'a promise from onStream: return a transformer', 'uncut'],
    [broken.repliesInOnSettled, 'a chunk from onSettled: it takes no result', undefined],
  ])('reports a result that cannot be meant: %#', async (stage, problem, cut) => {
    const breach = await breachOf(stage, ['plain-text']);
    const { name } = stage.plan;
    expect(breach.message.startsWith(`${name}: the stage ${name} returned ${problem}`)).toBe(true);
    expect(breach).toMatchObject({ rule: 'results', ...(cut && { fixture: 'plain-text', cut }) });
  });

  it('reports a transformer that holds chunks back without a flush', async () => {
    expect((await breachOf(broken.hasNoFlush, ['plain-text'])).message).toBe(
      [
        'has-no-flush: the transformer of has-no-flush holds chunks back and has no flush, which enqueues them at the end and before a fault: finish_reason of choice 0 (conservation)',
        '  fixture   plain-text',
        '  cut       uncut',
        '  expected  "stop"',
        '  got       null',
      ].join('\n'),
    );
  });

  it('reports a chunk that is enqueued after the end of its stream', async () => {
    expect(await breachOf(broken.enqueuesTooLate, ['plain-text'])).toMatchObject({
      rule: 'ending',
      fixture: 'plain-text',
      problem:
        'the transformer of enqueues-too-late enqueues a chunk after its stream has ended, where it is lost: what it waits for, flush must wait for',
    });
  });

  it.each([
    [broken.keepsAHeldChunk, 'after a stream that its reader has left', {}],
    [broken.countsOn, 'a second time', { changes: ['content'] as const }],
  ])('reports a stage that keeps something of one exchange for the next: %#', async (stage, cut, options) => {
    const breach = await breachOf(stage, ['multi-byte'], options);
    expect(breach).toMatchObject({ rule: 'isolation', cut });
    expect(breach.problem).toMatch(
      /^keeps something of one exchange for the next.*; state of a stream belongs into/,
    );
  });

  it.each([
    [broken.masks(), 'logprobs'],
    [broken.masks('logprobs'), 'reasoning'],
    [broken.masks('logprobs', 'reasoning'), 'refusal'],
    [broken.masks('logprobs', 'reasoning', 'refusal'), 'tool arguments'],
  ])('reports a text that is masked in the content and left elsewhere: %#', async (stage, where) => {
    const breach = await breachOf(stage, ['plain-text'], { changes: ['text'], holds_all: true });
    expect(breach).toMatchObject({ rule: 'leaks', fixture: 'text-everywhere', cut: 'uncut' });
    expect(breach.problem).toContain(
      `changes content and leaves the same text in ${where}: map it there too`,
    );
  });

  it('accepts a text that is masked everywhere, or in the content and its log probabilities only by intention', async () => {
    const fixtures = streamFixtures.slice(0, 1);
    const everywhere = broken.masks('logprobs', 'reasoning', 'refusal', 'tool_calls');
    await checkStage(everywhere, { fixtures, changes: ['text'], holds_all: true });
    await checkStage(broken.masks('logprobs'), { fixtures, changes: ['content'], holds_all: true });
  });

  it('reports a stage that does not change the text that it is said to change', async () => {
    const options = { changes: ['text'] as const, sample: 'Nothing to see.' };
    expect((await breachOf(redact(), ['plain-text'], options)).problem).toBe(
      'does not change the text of the option sample',
    );
  });

  it('reports a stage that changes the shared catalog', async () => {
    const breach = await breachOf(broken.changesTheModel, ['plain-text']);
    expect(breach.message).toMatch(
      /^changes-the-model: onRequest threw a TypeError that is no GatewayError \(refusals\)\n/,
    );
    expect(breach.cause).toBeInstanceOf(TypeError);
  });

  it('reports a stage that refuses the request of the check', async () => {
    const breach = await breachOf(auth(), ['plain-text'], { headers: {} });
    expect(breach.message).toBe(
      [
        'auth: refuses the request of this check; give it options, accounts or a request that let it through (refusals)',
        '  expected  "no throw"',
        `  got       GatewayError: ${refusal('missing_api_key').message}`,
      ].join('\n'),
    );
  });

  it('names the broken stage in a chain of several', async () => {
    const chain = [errorEnvelope(), broken.losesTheTail, reasoningSplit()];
    expect((await breachOf(chain, ['plain-text'])).subject).toBe(
      'error-envelope → loses-the-tail → reasoning-split',
    );
  });
});

describe('checkStage with declared changes', () => {
  const fixtures = streamFixtures.filter(({ name }) =>
    /^(usage-running|length-finish|tool-call)$/.test(name),
  );

  it.each([
    ['usage', broken.dropsUsage],
    ['finish_reason', broken.finishesWithStop],
    ['content', broken.shouts],
    ['tool_calls', broken.renamesTools],
  ] as const)('skips the comparison with the upstream for a declared change: %s', async (change, stage) => {
    expect((await checkStage(stage, { fixtures }).catch(error => error)).rule).toBe('conservation');
    await checkStage(stage, { fixtures, changes: [change] });
  });

  it('accepts a stage that declares collecting the whole reply', async () => {
    await checkStage(broken.collectsEverything, { fixtures, holds_all: true });
  });

  it('accepts a stage that declares reading ahead', async () => {
    await checkStage(broken.readsEverythingAhead, { fixtures, read_ahead: 100 });
  });
});
