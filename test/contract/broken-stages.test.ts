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
  const thrown = await checkStage(stage, { fixtures, timeout_ms: 500, ...options }).catch(error => error);
  expect(thrown).toBeInstanceOf(ContractError);
  return thrown as ContractError;
}

const text =
  'text of choice 0 (in these texts | stands for a think tag, or for the place where reasoning turns into content)';
const noChange = 'does not hand on what the upstream sent:';
const errorOf = (problem: string) => `Error: ${problem}`;
const tooEarly = errorOf('exchange.request is there from onRequest on, not before');
const brokeOff = 'GatewayError: The upstream provider closed the stream unexpectedly.';

type Row = [StageUnderTest, fixture: string, problem: string, cut: string, expected: string, got: string];

const inStreams: readonly Row[] = [
  [
    broken.losesTheTail,
    'plain-text',
    `${noChange} finish_reason of choice 0 (conservation)`,
    'uncut',
    '"stop"',
    'null',
  ],
  [
    broken.doublesAChunk,
    'plain-text',
    `${noChange} ${text} (conservation)`,
    'uncut',
    '"Rivers bend because water is lazy."',
    '"RiversRivers bend because water is lazy."',
  ],
  [
    broken.answersFirst,
    'reasoning-field',
    `${noChange} ${text} (conservation)`,
    'uncut',
    '"|The user greets me.|Hello there."',
    '"Hello there.|The user greets me."',
  ],
  [
    broken.endsEarly,
    'plain-text',
    `${noChange} order of kinds of choice 0 (conservation)`,
    'uncut',
    '["content","finish_reason"]',
    '["content","finish_reason","content"]',
  ],
  [
    broken.endsEarly,
    'text-then-tool-call',
    `${noChange} ${text} (conservation)`,
    'uncut',
    String.raw`"Let me roll the dice. \n[tool calls]"`,
    String.raw`"Let me roll[tool calls] the dice. \n"`,
  ],
  [
    broken.yieldsNoChunk,
    'plain-text',
    'yields what is no chunk (conservation)',
    'uncut',
    '"an object with choices"',
    '[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]',
  ],
  [
    broken.doublesTheEnd,
    'plain-text',
    `${noChange} number of chunks with a finish_reason of choice 0 (conservation)`,
    'uncut',
    '1',
    '2',
  ],
  [
    broken.saysStop,
    'length-finish',
    `${noChange} finish_reason of choice 0 (conservation)`,
    'uncut',
    '"length"',
    '"stop"',
  ],
  [
    broken.dropsRefusals,
    'refusal',
    `${noChange} refusal of choice 0 (conservation)`,
    'uncut',
    '"I\'m sorry, no."',
    '""',
  ],
  [broken.dropsRoles, 'plain-text', `${noChange} role of choice 0 (conservation)`, 'uncut', 'true', 'false'],
  [
    broken.dropsToolCalls,
    'tool-calls-mixed',
    `${noChange} tool_calls of choice 0 (conservation)`,
    'uncut',
    String.raw`…1","type":"function","function":{"name":"roll","arguments":"{\"d\":6}"}},{"id":"call_2","type":"function","function":{"name":"roll","arguments":"{\"d\":8}"}}]`,
    String.raw`…1","type":"function","function":{"name":"roll","arguments":"6}"}},{"id":"","type":"function","function":{"name":"","arguments":"{\"d\":8}"}}]`,
  ],
  [
    broken.dropsLogprobs,
    'logprobs',
    `${noChange} logprobs of choice 0 (conservation)`,
    'uncut',
    String.raw`[{"token":"Hello","logprob":-0.25,"bytes":[72,101,108,108,111],"top_logprobs":[]},{"token":"\\xf0","logprob":-0.25,"bytes":[92,120,102,48],"t…`,
    '[]',
  ],
  [
    broken.dropsUsage,
    'usage-running',
    `${noChange} usage (conservation)`,
    'uncut',
    '{"prompt_tokens":12,"completion_tokens":4,"total_tokens":16,"prompt_tokens_details":{"cached_tokens":8}}',
    'undefined',
  ],
  [
    broken.roundsUsage,
    'usage-running',
    `${noChange} usage (conservation)`,
    'uncut',
    '{"prompt_tokens":12,"completion_tokens":4,"total_tokens":16,"prompt_tokens_details":{"cached_tokens":8}}',
    '{"prompt_tokens":12,"completion_tokens":10,"total_tokens":22,"prompt_tokens_details":{"cached_tokens":0}}',
  ],
  [
    broken.splitsByPiece,
    'think-tags',
    'the result depends on how the reply is cut: reasoning of choice 0 (same-result)',
    'content of chunk 1, choice 0, at character 1',
    String.raw`"\nThe user greets me.\n"`,
    '""',
  ],
  [
    broken.throwsInOnReply,
    'tool-call',
    'throws at a reply that has no fault (refusals)',
    'not streamed',
    '"no throw"',
    "TypeError: Cannot read properties of null (reading 'length')",
  ],
  [
    broken.losesTheTailAtFaults,
    'plain-text',
    `hands on something else before a fault than what came before it: ${text} (faults)`,
    'a fault after 2 of 5 chunks',
    '"Rivers"',
    '""',
  ],
  [
    broken.inventsAFinish,
    'plain-text',
    'hands on something else before a fault than what came before it: finish_reason of choice 0 (faults)',
    'a fault after 0 of 5 chunks',
    'null',
    '"stop"',
  ],
  [
    broken.swallowsTheFault,
    'plain-text',
    "swallows the upstream's fault, so that a broken reply looks complete (faults)",
    'a fault after 5 of 5 chunks',
    brokeOff,
    '"an end without fault"',
  ],
  [
    broken.throwsAnotherFault,
    'plain-text',
    "does not rethrow the upstream's fault but another (faults)",
    'a fault after 0 of 5 chunks',
    brokeOff,
    errorOf('something went wrong'),
  ],
  [
    broken.neverEnds,
    'plain-text',
    'its stream does not end (ending)',
    'uncut',
    '"an end within 500 ms"',
    '"silence"',
  ],
  [
    broken.failsToLetGo,
    'plain-text',
    'throws when its reader leaves (leaving)',
    'the reader leaves after its chunk 1',
    '"no throw"',
    errorOf('cannot be cancelled'),
  ],
];

const elsewhere: readonly [StageUnderTest, problem: string, cut: string, expected: string, got: string][] = [
  [
    broken.collectsEverything,
    'hands nothing on before the reply has ended, so that its stream is none (delay)',
    'a pause of 1000 ms after 200 pieces of text',
    '"some text"',
    '"none"',
  ],
  [
    broken.throwsInOnError,
    'onError of throws-in-on-error throws (errors)',
    'missing_api_key before there is an account or a body',
    '"a GatewayError"',
    tooEarly,
  ],
  [
    broken.returnsNoError,
    'onError of returns-no-error returns something else (errors)',
    'missing_api_key before there is an account or a body',
    '"a GatewayError"',
    '{"code":"missing_api_key"}',
  ],
  [
    broken.throwsInOnSettled,
    'onSettled of throws-in-on-settled throws (settlement)',
    'a throw in onHeaders of a stage behind it',
    '"no throw"',
    tooEarly,
  ],
];

const nameOf = (stage: StageUnderTest) => ('plan' in stage ? stage.plan.name : '');
const withName = <T extends readonly [StageUnderTest, ...string[]]>(row: T) =>
  [nameOf(row[0]), ...row] as const;

describe('checkStage with a stage that breaks the contract', () => {
  it.each(inStreams.map(withName))(
    'reports the exact breach: %s',
    async (name, stage, fixture, problem, cut, expected, got) => {
      expect((await breachOf(stage, [fixture])).message).toBe(
        [
          `${name}: ${problem}`,
          `  fixture   ${fixture}`,
          `  cut       ${cut}`,
          `  expected  ${expected}`,
          `  got       ${got}`,
        ].join('\n'),
      );
    },
  );

  it.each(elsewhere.map(withName))(
    'reports a breach outside one stream: %s',
    async (name, stage, problem, cut, expected, got) => {
      expect((await breachOf(stage, ['plain-text'])).message).toBe(
        [`${name}: ${problem}`, `  cut       ${cut}`, `  expected  ${expected}`, `  got       ${got}`].join(
          '\n',
        ),
      );
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
