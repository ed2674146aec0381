import { afterEach, describe, expect, it } from '@jest/globals';
import type { Outcome } from '../../src/plugin.ts';
import { chunk, events, type Script, thenClose, thenReset, whole } from '../support/scripted-upstream.ts';
import {
  type Asked,
  type BookOverrides,
  type Books,
  type Connection,
  closeBalanced,
  expectConnection,
  openBooks,
} from '../support/settlement.ts';
import {
  type Bill,
  compressed,
  doneSeen,
  expectBilled,
  halfSeen,
  middleOf,
  partsOf,
  settledEndpoints,
  textSeen,
  type UsageKind,
  wholeReplyOf,
  wholeStreamOf,
} from '../support/settlement-answer.ts';
import { until } from '../support/until.ts';

afterEach(closeBalanced);

interface End {
  readonly end: string;
  readonly overrides?: BookOverrides;
  readonly plays: (kind: UsageKind) => Script;
  /** What the client does; without it the client reads to the end. */
  readonly client?: (asked: Asked, books: Books) => Promise<unknown>;
  readonly settled: Partial<Outcome>;
  readonly bill: Bill;
  readonly connection: Connection;
}

const reads = ({ connection }: Asked) => connection.received(/data: \[DONE\]\n\n|\r\n\r\n\{.*\}$/s);
const leavesWhen =
  (pattern: RegExp) =>
  async ({ connection }: Asked) => {
    await connection.received(pattern);
    connection.destroy();
  };
const leavesWhenAsked = async ({ connection }: Asked, { upstream }: Books) => {
  await until(() => upstream.requests.length === 1);
  connection.destroy();
};
const closesGateway = async (asked: Asked, { gateway }: Books) => {
  await asked.connection.received(halfSeen);
  await gateway.gateway.close(50);
  await reads(asked);
};

const completed = { end_reason: 'completed', status: 200, error_type: undefined } as const;
const gone = { end_reason: 'client_gone', status: 200, error_type: undefined } as const;
const goneEarly = { ...gone, status: 0 } as const;
const broken = { end_reason: 'upstream_failed', status: 200, error_type: 'provider_error' } as const;
const failed = { ...broken, status: 502 } as const;
const impatient = { provider: { idle_timeout_ms: 1000 } };

const ends: readonly End[] = [
  { end: 'finished', plays: wholeStreamOf, settled: completed, bill: 'all', connection: 'kept' },
  {
    end: 'finished without [DONE], the connection closed',
    plays: kind =>
      thenClose(partsOf(kind, 'head', 'role', 'firstHalf', 'secondHalf', 'finish', 'usage', 'end')),
    settled: completed,
    bill: 'all',
    connection: 'upstream',
  },
  {
    end: 'finished, and the upstream lingers after [DONE]',
    plays: kind => partsOf(kind, 'head', 'role', 'firstHalf', 'secondHalf', 'finish', 'usage', 'done'),
    settled: completed,
    bill: 'all',
    connection: 'gateway',
  },
  {
    end: 'finished, answered with a whole reply',
    plays: wholeReplyOf,
    settled: completed,
    bill: 'all',
    connection: 'kept',
  },
  {
    end: 'finished, compressed',
    plays: kind => compressed(kind, 'whole'),
    settled: completed,
    bill: 'all',
    connection: 'kept',
  },
  {
    end: 'the client gone in the middle, compressed',
    plays: kind => compressed(kind, 'half'),
    client: leavesWhen(halfSeen),
    settled: gone,
    bill: 'half',
    connection: 'gateway',
  },
  {
    end: 'a reset in the middle, compressed',
    plays: kind => thenReset(compressed(kind, 'half')),
    settled: broken,
    bill: 'half',
    connection: 'upstream',
  },
  {
    end: 'the client gone before the upstream said anything',
    plays: () => () => {},
    client: leavesWhenAsked,
    settled: goneEarly,
    bill: 'prompt',
    connection: 'gateway',
  },
  {
    end: 'the client gone before the first token',
    plays: kind => partsOf(kind, 'head', 'role'),
    client: leavesWhen(/"role":"assistant"|response\.in_progress/),
    settled: gone,
    bill: 'role',
    connection: 'gateway',
  },
  {
    end: 'the client gone in the middle',
    plays: middleOf,
    client: leavesWhen(halfSeen),
    settled: gone,
    bill: 'half',
    connection: 'gateway',
  },
  {
    end: 'the client gone between the last text and the finish',
    plays: kind => partsOf(kind, 'head', 'role', 'firstHalf', 'secondHalf'),
    client: leavesWhen(textSeen),
    settled: gone,
    bill: 'text',
    connection: 'gateway',
  },
  {
    end: 'the client gone between finish and usage',
    plays: kind => partsOf(kind, 'head', 'role', 'firstHalf', 'secondHalf', 'finish'),
    client: leavesWhen(textSeen),
    settled: gone,
    bill: 'text',
    connection: 'gateway',
  },
  {
    end: 'the client gone between usage and [DONE]',
    plays: kind => partsOf(kind, 'head', 'role', 'firstHalf', 'secondHalf', 'finish', 'usage'),
    client: leavesWhen(textSeen),
    settled: gone,
    bill: 'all',
    connection: 'gateway',
  },
  {
    end: 'the client gone right after [DONE]',
    plays: wholeStreamOf,
    client: leavesWhen(doneSeen),
    settled: completed,
    bill: 'all',
    connection: 'kept',
  },
  {
    end: 'a reset before the reply',
    plays: () => thenReset(),
    settled: failed,
    bill: 'nothing',
    connection: 'upstream',
  },
  {
    end: 'a reset after the headers',
    plays: kind => thenReset(partsOf(kind, 'head')),
    settled: failed,
    bill: 'nothing',
    connection: 'upstream',
  },
  {
    end: 'a reset in the middle',
    plays: kind => thenReset(middleOf(kind)),
    settled: broken,
    bill: 'half',
    connection: 'upstream',
  },
  {
    end: 'a clean end in the middle',
    plays: kind => thenClose(middleOf(kind), '0\r\n\r\n'),
    settled: broken,
    bill: 'half',
    connection: 'upstream',
  },
  {
    end: 'a stall before the reply',
    overrides: impatient,
    plays: () => () => {},
    settled: failed,
    bill: 'nothing',
    connection: 'gateway',
  },
  {
    end: 'a stall in the middle',
    overrides: impatient,
    plays: middleOf,
    settled: broken,
    bill: 'half',
    connection: 'gateway',
  },
  {
    end: 'garbage at the beginning',
    plays: kind => Buffer.concat([partsOf(kind, 'head'), chunk('data: {"choices":[{]}\n\n')]),
    settled: failed,
    bill: 'nothing',
    connection: 'gateway',
  },
  {
    end: 'garbage in the middle',
    plays: kind => Buffer.concat([middleOf(kind), chunk('data: {"choices":[{]}\n\n')]),
    settled: broken,
    bill: 'half',
    connection: 'gateway',
  },
  {
    end: 'an error event at the beginning',
    plays: kind => Buffer.concat([partsOf(kind, 'head'), chunk(events({ error: { message: 'no' } }))]),
    settled: failed,
    bill: 'nothing',
    connection: 'gateway',
  },
  {
    end: 'an error event in the middle',
    plays: kind => Buffer.concat([middleOf(kind), chunk(events({ error: { message: 'no' } }, '[DONE]'))]),
    settled: broken,
    bill: 'half',
    connection: 'gateway',
  },
  {
    end: 'an error status',
    plays: () => whole(500, { error: { message: 'no' } }),
    settled: failed,
    bill: 'nothing',
    connection: 'kept',
  },
  {
    end: 'a refusal of the upstream',
    plays: () => whole(400, { error: { message: 'no' } }),
    settled: { end_reason: 'refused', status: 400, error_type: 'invalid_request_error' },
    bill: 'nothing',
    connection: 'kept',
  },
  {
    end: 'the shutdown before the reply',
    plays: () => () => {},
    client: async (asked, { gateway, upstream }) => {
      await until(() => upstream.requests.length === 1);
      await gateway.gateway.close(50);
      await reads(asked);
    },
    settled: { end_reason: 'shutdown', status: 502, error_type: 'server_error' },
    bill: 'nothing',
    connection: 'gateway',
  },
  {
    end: 'the shutdown in the middle',
    plays: middleOf,
    client: closesGateway,
    settled: { end_reason: 'shutdown', status: 200, error_type: 'server_error' },
    bill: 'half',
    connection: 'gateway',
  },
];

type Endpoint = (typeof settledEndpoints)[number]['endpoint'];

/** Plays one end with one kind of usage. */
async function play(
  { overrides, plays, client = reads, ...expected }: End,
  kind: UsageKind,
  endpoint: Endpoint,
  more: object = {},
) {
  const books = await openBooks({ ...overrides, adapter: kind.adapter, endpoint });
  const { upstream } = books;
  upstream.reply(plays(kind));
  const asked = books.ask({ stream: true, ...more });
  await client(asked, books);
  const outcome = await asked.settled();
  const facts = {
    endpoint,
    provider: 'upstream',
    attempts: { length: 1 },
    account: 'tester',
    model: 'aion-labs/aion-3.5',
  };
  expect({ kind, ...outcome }).toMatchObject({ kind, ...facts, ...expected.settled });
  expectBilled(outcome.usage, kind, expected.bill);
  await expectConnection(books, expected.connection);
}

describe.each(settledEndpoints)('a stream of $endpoint', ({ endpoint, kinds }) => {
  it.each(ends)('is settled once and correctly after: $end', async end => {
    await Promise.all(kinds.map(kind => play(end, kind, endpoint)));
  });
});

describe('the usage options of a client', () => {
  it.each([
    { include_usage: false },
    { include_usage: false, continuous_usage_stats: false },
    { include_usage: true, continuous_usage_stats: true },
  ])('do not change the bill: %j', async stream_options => {
    const some = ends.filter(({ end }) => /finished$|before the reply|in the middle$/.test(end));
    expect(some).toHaveLength(11);
    const all = some.flatMap(end =>
      settledEndpoints.flatMap(({ endpoint, kinds }) =>
        kinds.map(kind => play(end, kind, endpoint, { stream_options })),
      ),
    );
    await Promise.all(all);
  });
});
