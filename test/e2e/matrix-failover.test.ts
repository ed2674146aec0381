import { afterAll, expect } from '@jest/globals';
import type { AttemptRecord } from '../../src/plugin.ts';
import { completion, delta, said } from '../support/hostile-setting.ts';
import {
  coveredFaults,
  coveredStalls,
  dialectsOf,
  endlessComments,
  type Fault,
  misconfiguredLog,
  rowsOf,
  steady,
} from '../support/matrix/faults.ts';
import { type Exchange, matrix, type Row, type Way } from '../support/matrix/matrix.ts';
import {
  broken,
  completed,
  failed,
  gone,
  goneEarly,
  leavesOnceAsked,
  misconfigured,
  refused,
  silence,
  toldBroken,
  toldFailed,
  toldRefused,
} from '../support/matrix/parts.ts';
import {
  chunk,
  events,
  type Script,
  startScriptedUpstream,
  streamed,
  streamHead,
  thenClose,
  thenReset,
  whole,
} from '../support/scripted-upstream.ts';
import { type UsageKind, usageKinds, wholeReplyOf, wholeStreamOf } from '../support/settlement-answer.ts';
import { until } from '../support/until.ts';

const gateways = ['sidecar', 'express'] as const;
const words = (text: string) => ({ error: { message: text, type: 'x' } });
const no = whole(500, words('no'));
const busy = (seconds: number) => whole(429, words('no'), { 'retry-after': seconds });
const answer = (kind: UsageKind, way: Way) => (way === 'streamed' ? wholeStreamOf(kind) : wholeReplyOf(kind));
const names = ['upstream', 'second', 'third', 'fourth'];
/** Attempts that failed so, one at each provider; the last of `undefined` was answered. */
const failing = (...kinds: readonly (string | undefined)[]) => ({
  provider: names[kinds.length - 1]!,
  attempts: kinds.map((kind, at): Partial<AttemptRecord> => ({ provider: names[at]!, kind })),
});
const answered = (...kinds: readonly string[]): Omit<Row, 'when' | 'plays'> => ({
  told: { finish: 'stop' },
  settled: { ...completed, ...failing(...kinds, undefined) },
  bill: 'all',
  connection: 'kept',
});
const unanswered = (...kinds: readonly string[]): Omit<Row, 'when' | 'plays'> => ({
  told: toldFailed,
  settled: { ...failed, ...failing(...kinds) },
  bill: 'nothing',
});

const bySecond = (fault: Fault): ReturnType<Parameters<typeof rowsOf>[1]> => ({
  ...answered(fault.kind),
  plays: (kind, way) => [fault.plays, answer(kind, way)],
  mounts: ['sidecar'],
  dialects: dialectsOf(fault),
});
/** Every exchange ends as it does alone: other models of the same providers go on while one of them rests. */
const own = { ownModels: true, providers: [steady, steady, steady] } as const;

matrix('failover to the second provider', rowsOf(coveredFaults, bySecond), own, 2);

const stalls = [...coveredStalls, ...endlessComments];
const hurried = {
  ownModels: true,
  providers: [{ ...steady, first_token_timeout_ms: 1000, total_timeout_ms: 2000 }, steady, steady],
} as const;
matrix(
  'failover from a provider that stays silent',
  [
    ...rowsOf(stalls, bySecond),
    {
      when: 'the second is asked: the attempt at the first is closed before it is answered, and its wait is counted',
      plays: () => silence,
      client: async ({ requests, play, way }) => {
        await until(() => requests[0]?.isClosed === true);
        await play(answer(usageKinds[1]!, way), 1);
      },
      mounts: gateways,
      ...answered('timeout'),
      also: async ({ requests }, { timings, attempts: [silent] }) => {
        expect(await requests[0]!.closed).toBe('gateway');
        // Timers begin at the time of the turn that sets them, which may have been long on a busy machine.
        expect(silent!.duration_ms).toBeGreaterThan(100);
        expect(timings.upstream_wait_ms).toBeGreaterThan(silent!.duration_ms! - 1);
      },
    },
  ],
  hurried,
  2,
);

const silent = await startScriptedUpstream(() => {});
afterAll(() => silent.close());
matrix(
  'failover from addresses that cannot be used',
  [
    {
      when: 'one refuses, one does not resolve and one does not shake hands',
      plays: answer,
      mounts: gateways,
      ...answered('unreachable', 'unreachable', 'timeout'),
    },
  ],
  {
    config: { routing: { max_attempts: 4 } as never },
    providers: [
      { ...steady, base_url: 'http://127.0.0.1:1/v1' },
      { ...steady, base_url: 'http://no-such-host.invalid/v1' },
      { ...steady, base_url: silent.url.replace('http:', 'https:'), connect_timeout_ms: 300 },
    ],
  },
  4,
);

const onlyFirst: Omit<Row, 'when' | 'plays' | 'settled'> = {
  mounts: ['sidecar'],
  dialects: ['chat.completions'],
  also: ({ requests }) => expect(requests).toHaveLength(1),
};
const usage = (completion_tokens: number) => ({ usage: { prompt_tokens: 50, completion_tokens } });
const role = delta({ role: 'assistant', content: '' }, null, usage(0));
const begun = events(role, delta({ content: 'Once upon' }, null, usage(2)));
const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'roll', arguments: '' } };
const reply = whole(200, completion('The whole of it, generated and paid for.'));
const late = {
  streamed: streamed(events(said('x'.repeat(5000)))),
  whole: whole(200, completion('x'.repeat(5000))),
};

/** Ends of a stream after its first content, and of a whole reply after its first bytes. */
const ends: readonly [end: string, kind: string, plays: Script][] = [
  ['a reset', 'broken', thenReset(streamHead(), chunk(begun))],
  ['a close', 'broken', thenClose(streamHead(), chunk(begun))],
  ['an end without a finish', 'broken', streamed(begun)],
  ['an error event', 'status', streamed(begun + events(words('no')))],
  ['garbage', 'invalid', streamed(`${begun}data: gpu-7\n\n`)],
  ['silence', 'timeout', streamHead() + chunk(begun)],
];
const cuts: readonly [end: string, kind: string, plays: Script][] = [
  ['a reset', 'broken', thenReset(reply.subarray(0, 500))],
  ['an end', 'broken', thenClose(reply.subarray(0, 500))],
  ['silence', 'timeout', reply.subarray(0, 500)],
];

matrix(
  'no failover',
  [
    ...ends.map(
      ([end, kind, plays]): Row => ({
        when: `${end} follows the first content, which is billed`,
        plays: answerKind => [plays, wholeStreamOf(answerKind)],
        ways: ['streamed'],
        told: { ...toldBroken, text: 'Once upon' },
        settled: {
          ...broken,
          ...failing(kind),
          usage: { prompt_tokens: 50, completion_tokens: 2, estimated: false },
        },
        ...onlyFirst,
      }),
    ),
    ...cuts.map(
      ([end, kind, plays]): Row => ({
        ...{
          when: `${end} follows the first bytes of a whole reply`,
          plays: (of, way) => [plays, answer(of, way)],
        },
        ...{ ways: ['whole'], ...unanswered(kind), ...onlyFirst },
      }),
    ),
    ...[
      { what: 'reasoning', first: delta({ reasoning: 'Hm' }) },
      { what: 'a tool call', first: delta({ tool_calls: [call] }) },
      { what: 'a refusal', first: delta({ refusal: 'I' }) },
    ].map(
      ({ what, first }): Row => ({
        when: `a reset follows ${what}`,
        plays: kind => [thenReset(streamHead(), chunk(events(role, first))), wholeStreamOf(kind)],
        ways: ['streamed'],
        told: toldBroken,
        settled: { ...broken, ...failing('broken') },
        ...onlyFirst,
      }),
    ),
    ...(['streamed', 'whole'] as const).map(
      (way): Row => ({
        ...{ when: 'the reply is too large', plays: kind => [late[way], answer(kind, way)], ways: [way] },
        ...{ ...unanswered('invalid'), ...onlyFirst },
      }),
    ),
    ...[400, 413, 422].map(
      (status): Row => ({
        when: `the request is at fault for a ${status}`,
        plays: (kind, way) => [whole(status, words('Too long.')), answer(kind, way)],
        told: { ...toldRefused, message: 'Too long.' },
        settled: { ...refused, ...failing('refused') },
        bill: 'nothing',
        ...onlyFirst,
      }),
    ),
  ],
  {
    ownModels: true,
    providers: [{ ...steady, total_timeout_ms: 2000, max_event_bytes: 4000, max_reply_bytes: 4000 }],
  },
  2,
);

/** A client that has a heartbeat before the providers it meets play these, one after the other. */
const afterBeat =
  (...scripts: readonly Script[]) =>
  async ({ client, play }: Exchange): Promise<void> => {
    await client.received(/: keep-alive\n\n|event: ping\n/);
    for (const [at, script] of scripts.entries()) await play(script, at);
  };
const streams = { ways: ['streamed'], mounts: gateways } as const;

matrix(
  'a request that no provider answers',
  [
    {
      when: 'all fail, and the last failure is told',
      plays: () => [no, whole(529, words('b')), whole(503, words('c'), { 'retry-after': '7' })],
      mounts: gateways,
      ...unanswered('status', 'status', 'status'),
      told: { ...toldFailed, headers: { 'retry-after': '7' } },
    },
    {
      when: 'the last is misconfigured, which says nothing of the others',
      plays: () => [no, no, whole(401, words('b'))],
      mounts: gateways,
      ...unanswered('status', 'status', 'misconfigured'),
      log: misconfiguredLog,
    },
    {
      when: 'all are misconfigured',
      plays: () => [whole(404, words('a')), whole(403, words('b')), whole(401, words('c'))],
      mounts: gateways,
      told: { status: 400, error: 'configuration_error' },
      settled: { ...misconfigured, ...failing('misconfigured', 'misconfigured', 'misconfigured') },
      bill: 'nothing',
      log: misconfiguredLog,
    },
    {
      when: 'the second refuses the request',
      plays: () => [no, whole(400, words('Too many tools.'))],
      mounts: gateways,
      told: { ...toldRefused, message: 'Too many tools.' },
      settled: { ...refused, ...failing('status', 'refused') },
      bill: 'nothing',
    },
    {
      when: 'two fail and the third answers',
      plays: (kind, way) => [whole(503, ''), thenReset(), answer(kind, way)],
      mounts: gateways,
      ...answered('status', 'unreachable'),
    },
    {
      when: 'it rests as it asked to, which the next request knows',
      before: () => [busy(60), busy(60), no],
      plays: (kind, way) => answer(kind, way),
      mounts: gateways,
      told: { finish: 'stop' },
      settled: { ...completed, provider: 'third', attempts: [{ provider: 'third' }] },
    },
    {
      when: 'all rest: the one whose rest ends first is asked',
      before: () => [busy(60), busy(30), busy(60)],
      plays: (kind, way) => answer(kind, way),
      mounts: gateways,
      told: { finish: 'stop' },
      settled: { ...completed, provider: 'second', attempts: [{ provider: 'second' }] },
    },
  ],
  own,
  3,
);

matrix(
  'a request whose providers all rest, where that is refused',
  [
    {
      when: 'none is asked',
      before: () => [busy(60), busy(30)],
      plays: () => [],
      mounts: gateways,
      told: { ...toldFailed, headers: { 'retry-after': expect.stringMatching(/^(2\d|30)$/) } },
      settled: { end_reason: 'refused', status: 502, provider: undefined, attempts: [] },
      bill: 'nothing',
      also: ({ requests }) => expect(requests).toEqual([]),
    },
  ],
  { ...own, config: { routing: { when_all_unavailable: 'refuse' } as never } },
  2,
);

matrix(
  'failover behind a heartbeat',
  [
    {
      when: 'the first fails late, and the second answers',
      plays: kind => [silence, wholeStreamOf(kind)],
      client: afterBeat(streamed(events(words('gpu-7')))),
      ...streams,
      ...answered('status'),
    },
    {
      when: 'both fail late, which is one error event',
      plays: () => silence,
      client: afterBeat(whole(500, words('gpu-7')), whole(500, words('gpu-7'))),
      ...streams,
      ...unanswered('status', 'status'),
      told: { ...toldBroken, text: '' },
      settled: { ...broken, ...failing('status', 'status') },
    },
    {
      when: 'the first breaks off after its first content, which is not tried again',
      plays: () => silence,
      client: afterBeat(thenReset(streamHead(), chunk(begun))),
      ...streams,
      told: { ...toldBroken, text: 'Once upon' },
      settled: { ...broken, ...failing('broken') },
      also: ({ requests }) => expect(requests).toHaveLength(1),
    },
  ],
  { ...own, server: { stream_commit_ms: 50, keepalive_ms: 50 } },
  2,
);

const late_answer = whole(200, {
  choices: [{ message: { content: 'Late.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 9, completion_tokens: 2 },
});
const backgroundReads = async ({ mount }: Exchange) =>
  (await mount.registry.getSingleMetric('sluice_background_reads')!.get()).values[0]?.value;

matrix(
  'a client that has left',
  [
    {
      when: 'its stream is closed at once, and no other provider is asked',
      plays: () => silence,
      client: leavesOnceAsked,
      ...{ ways: ['streamed'], ...onlyFirst, connection: 'gateway', bill: 'prompt' },
      settled: { ...goneEarly, attempts: [{ provider: 'upstream' }] },
    },
    {
      when: 'a whole reply that is read on fails, and no other provider is asked',
      plays: () => silence,
      client: async exchange => {
        await leavesOnceAsked(exchange);
        await until(async () => (await backgroundReads(exchange)) === 1);
        await exchange.play(no);
      },
      ...{
        ways: ['whole'],
        ...onlyFirst,
        bill: 'nothing',
      },
      settled: { end_reason: gone.end_reason, ...failing('status') },
    },
  ],
  own,
  2,
);

matrix(
  'a client that was answered 524',
  [
    {
      when: 'the first fails then, and no other is asked',
      plays: () => silence,
      client: async ({ client, play }) => {
        await client.ended;
        await play(no);
      },
      ways: ['whole'],
      told: { status: 524, error: 'timeout_error' },
      settled: { end_reason: 'time_limit', status: 524, ...failing('status') },
      bill: 'nothing',
      ...onlyFirst,
    },
    {
      when: 'the second answers then, which is billed',
      plays: () => [no, silence],
      client: async ({ client, play }) => {
        await client.ended;
        await play(late_answer, 1);
      },
      ways: ['whole'],
      mounts: gateways,
      told: { status: 524, error: 'timeout_error' },
      settled: {
        ...{ end_reason: 'time_limit', ...failing('status', undefined) },
        usage: { prompt_tokens: 9, completion_tokens: 2 },
      },
    },
  ],
  { ...own, server: { non_stream_timeout_ms: 1500 } },
  2,
);

matrix(
  'a request that the format of no provider can express',
  [
    {
      when: 'none is asked, and the field is named',
      plays: () => [],
      more: { n: 2 },
      ...{ dialects: ['chat.completions'], mounts: gateways, bill: 'nothing' },
      told: { ...toldRefused, message: /^n: must be 1/ },
      settled: { ...refused, attempts: [] },
      also: ({ requests }) => expect(requests).toEqual([]),
    },
  ],
  { adapter: 'anthropic', providers: [steady, steady] },
  2,
);
