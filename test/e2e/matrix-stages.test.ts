import { expect } from '@jest/globals';
import { delayed, type FaultyPlace } from '../fixtures/stages/faulty.ts';
import { matrix, type Row } from '../support/matrix/matrix.ts';
import { goneEarly, silence } from '../support/matrix/parts.ts';
import { whole } from '../support/scripted-upstream.ts';
import { middleOf, usageKinds, wholeReplyOf, wholeStreamOf } from '../support/settlement-answer.ts';
import { until } from '../support/until.ts';

/** How a stage may fail, and what the client is told then. */
const manners = [
  { verb: 'fails', status: 502, error_type: 'server_error', end_reason: 'internal_error' },
  { verb: 'refuses', status: 400, error_type: 'invalid_request_error', end_reason: 'refused' },
] as const;
type Manner = (typeof manners)[number];
type Fault = Omit<Row, 'when' | 'headers'>;

const unasked = { attempts: { length: 0 } as never, provider: undefined, cost_usd: '0' } as const;
const asked = { attempts: { length: 1 } as never };
const answers: Row['plays'] = (kind, way) => (way === 'streamed' ? wholeStreamOf(kind) : wholeReplyOf(kind));
const nobodyAsked: NonNullable<Row['also']> = ({ requests }) => expect(requests).toEqual([]);

/** What follows where a stage fails there. */
const faults: Readonly<Record<FaultyPlace, (manner: Manner) => Fault>> = {
  onHeaders: before,
  onRequest: before,
  opening: manner => ({ ...before(manner), ways: ['streamed'] }),
  beginning: manner => ({ ...before(manner), ways: ['streamed'] }),
  onError: ({ status, error_type }) => ({
    plays: () => whole(500, {}),
    told: { status, error: error_type },
    settled: { status, error_type, end_reason: 'upstream_failed', ...asked },
    bill: 'nothing',
  }),
  onSettled: () => ({
    plays: answers,
    told: { finish: 'stop' },
    settled: { status: 200, error_type: undefined, end_reason: 'completed', ...asked },
    bill: 'all',
    connection: 'kept',
  }),
  onReply: ({ status, error_type, end_reason }) => ({
    plays: answers,
    ways: ['whole'],
    told: { status, error: error_type },
    settled: { status, error_type, end_reason, ...asked },
    bill: 'all',
  }),
  middle: broken,
  'careless middle': broken,
  end: ({ error_type, end_reason }) => ({
    plays: answers,
    ways: ['streamed'],
    told: { error: error_type },
    settled: { status: 200, error_type, end_reason, ...asked },
    bill: 'all',
    connection: 'kept',
  }),
};

/** Nothing is sent upstream. */
function before({ status, error_type, end_reason }: Manner): Fault {
  return {
    plays: answers,
    told: { status, error: error_type },
    settled: { status, error_type, end_reason, ...unasked },
    bill: 'nothing',
    also: nobodyAsked,
  };
}

/** The upstream is aborted, and what was read of it is billed: the role and one word, or two. */
function broken({ error_type, end_reason }: Manner): Fault {
  return {
    plays: middleOf,
    ways: ['streamed'],
    told: { error: error_type },
    settled: { status: 200, error_type, end_reason, ...asked },
    connection: 'gateway',
    also: (_, { usage: { prompt_tokens, completion_tokens, estimated } }) => {
      expect(completion_tokens).toBeGreaterThan(0);
      expect(completion_tokens).toBeLessThanOrEqual(estimated ? 4 : 14);
      expect(prompt_tokens).toBeGreaterThan(50);
    },
  };
}

const failing = Object.entries(faults).flatMap(([place, faultOf]) =>
  manners.map(manner => ({
    ...faultOf(manner),
    when: `it ${manner.verb} in ${place}`,
    headers: { 'x-faulty': `${manner.verb} ${place}` },
    log: /^Temporary server-side error|^a stage threw in on(Error|Settled)/,
  })),
);
/** Usage in each way, which every place and manner counts alike. */
const ofKinds = failing
  .filter(({ bill, when }) => bill !== 'nothing' && /^it fails/.test(when))
  .map(row => ({ ...row, kinds: usageKinds, dialects: ['chat.completions'], mounts: ['sidecar'] }) as const);
const continuous = failing
  .filter(({ when }) => /opening|beginning|middle/.test(when))
  .map(row => ({
    ...row,
    when: `${row.when} of a stream with running usage`,
    more: { stream_options: { continuous_usage_stats: true } },
    dialects: ['chat.completions'] as const,
    mounts: ['sidecar'] as const,
  }));
const last = failing.map(row => ({ ...row, dialects: ['chat.completions'] as const }));

/** How an error is told does not depend on the hook. */
const first = failing.map(row =>
  /onRequest| middle/.test(row.when) ? row : { ...row, dialects: ['chat.completions'] as const },
);

matrix('a stage in front of all others', [...first, ...continuous], { first: [['faulty', {}]] });
matrix('a stage behind all others', last, { last: [['faulty', {}]] });
matrix('a stage beside an upstream that tells its usage at any time', ofKinds, { first: [['faulty', {}]] });

matrix(
  'a request that waits in a stage',
  [
    {
      when: 'its client leaves',
      plays: () => silence,
      dialects: ['chat.completions'],
      client: async ({ id, client }) => {
        await until(() => delayed.has(id));
        client.leave();
      },
      settled: { ...goneEarly, account: 'tester', ...unasked },
      bill: 'nothing',
      also: nobodyAsked,
    },
  ],
  { last: [['faulty', { delay_ms: 1500 }]] },
);

const kept = { account: 'tester', ...unasked } as const;
const refusal = { end_reason: 'refused', error_type: 'invalid_request_error', status: 400 } as const;
const unauthorized = {
  ...refusal,
  error_type: 'authentication_error',
  status: 401,
  account: undefined,
} as const;
const known = { ...kept, ...refusal, model: 'aion-labs/aion-3.5' } as const;
const unknown = { ...kept, ...refusal, model: undefined } as const;

/** What is asked, and how it is refused. */
const refusals: readonly (Pick<Row, 'when' | 'settled'> & Partial<Row>)[] = [
  { when: 'it has no key', headers: { authorization: '' }, settled: { ...unasked, ...unauthorized } },
  { when: 'its model is unknown', more: { model: 'no/model' }, settled: unknown },
  {
    when: 'its effort is wrong',
    more: { reasoning_effort: 'medium' },
    settled: known,
    dialects: ['chat.completions'],
  },
  {
    when: 'it is of another type',
    headers: { 'content-type': 'text/plain' },
    settled: { ...kept, ...refusal },
  },
  { when: 'it is no JSON', sends: one => ({ ...one, body: '{"a' }), settled: unknown },
  { when: 'it is too large', more: { user: 'x'.repeat(20_000) }, settled: { ...unknown, status: 413 } },
  {
    when: 'its path is unknown',
    sends: one => ({ ...one, path: '/v1/nothing' }),
    settled: { ...unasked, ...refusal, status: 404, endpoint: 'unknown' },
    mounts: ['sidecar'],
    dialects: ['chat.completions'],
  },
  {
    when: 'its method is wrong',
    sends: one => ({ ...one, method: 'GET', body: '' }),
    settled: { ...unasked, ...refusal, status: 405 },
    mounts: ['sidecar'],
    dialects: ['chat.completions'],
  },
];
const catalogReads = ['GET', 'HEAD'].map(method => ({
  when: `it is ${method} /v1/models`,
  sends: (one: Parameters<NonNullable<Row['sends']>>[0]) => ({
    ...one,
    method,
    path: '/v1/models',
    body: '',
  }),
  plays: () => silence,
  settled: {
    ...unasked,
    end_reason: 'completed',
    status: 200,
    endpoint: 'models',
    account: undefined,
  } as const,
  bill: 'nothing' as const,
  ways: ['whole'] as const,
  dialects: ['chat.completions'] as const,
  also: nobodyAsked,
}));

matrix(
  'a request that reaches no upstream',
  [
    ...refusals.map(row => ({
      ways: ['whole'] as const,
      ...row,
      plays: () => silence,
      told: { status: row.settled.status!, error: row.settled.error_type! },
      bill: 'nothing' as const,
      also: nobodyAsked,
    })),
    ...catalogReads,
  ],
  { server: { max_body_bytes: 10_000 } },
);
