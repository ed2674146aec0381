import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Outcome } from '../../src/plugin.ts';
import { head, type Script, thenClose, thenReset, whole } from '../support/scripted-upstream.ts';
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
  expectBilled,
  settledEndpoints,
  type UsageKind,
  wholeReplyOf,
} from '../support/settlement-answer.ts';
import { until } from '../support/until.ts';

afterEach(closeBalanced);

interface End {
  readonly end: string;
  readonly overrides?: BookOverrides;
  readonly plays: (kind: UsageKind) => Script;
  /** What the client does; without it the client reads the reply. */
  readonly client?: (asked: Asked, books: Books) => Promise<unknown>;
  readonly settled: Partial<Outcome>;
  readonly bill: Bill;
  readonly connection: Connection;
}

const reads = ({ connection }: Asked) => connection.received(/\r\n\r\n\{.*\}$/s);
const leaves = async ({ connection }: Asked, { upstream }: Books) => {
  await until(() => upstream.requests.length === 1);
  connection.destroy();
};
const closesGateway = async (asked: Asked, { gateway, upstream }: Books) => {
  await until(() => upstream.requests.length === 1);
  await gateway.gateway.close(50);
  await reads(asked);
};

/** After the client has left, or has been answered 524. */
const later =
  (script: Script): Script =>
  async (socket, request) => {
    await sleep(900);
    if (typeof script === 'function') script(socket, request);
    else socket.write(script);
  };
const begun = (kind: UsageKind) => wholeReplyOf(kind).subarray(0, 600);

const completed = { end_reason: 'completed', status: 200, error_type: undefined } as const;
const gone = { end_reason: 'client_gone', status: 0, error_type: undefined } as const;
const failed = { end_reason: 'upstream_failed', status: 502, error_type: 'provider_error' } as const;
const late = { end_reason: 'time_limit', status: 524, error_type: 'timeout_error' } as const;
const closing = { end_reason: 'shutdown', status: 502, error_type: 'server_error' } as const;
const limited = { server: { non_stream_timeout_ms: 500 } };
const impatient = { provider: { idle_timeout_ms: 1000 } };

const ends: readonly End[] = [
  { end: 'finished', plays: wholeReplyOf, settled: completed, bill: 'all', connection: 'kept' },
  {
    end: 'the client gone at once after the reply',
    plays: wholeReplyOf,
    client: async asked => {
      await reads(asked);
      asked.connection.destroy();
    },
    settled: completed,
    bill: 'all',
    connection: 'kept',
  },
  {
    end: 'the client gone, read on',
    plays: kind => later(wholeReplyOf(kind)),
    client: leaves,
    settled: gone,
    bill: 'all',
    connection: 'kept',
  },
  {
    end: 'the client gone in the middle of the reply, read on',
    plays: kind => socket => {
      socket.write(begun(kind));
      setTimeout(() => socket.write(wholeReplyOf(kind).subarray(600)), 900);
    },
    client: leaves,
    settled: gone,
    bill: 'all',
    connection: 'kept',
  },
  {
    end: 'the client gone, the upstream aborted',
    overrides: { model: { on_client_gone: 'abort' } },
    plays: () => () => {},
    client: leaves,
    settled: gone,
    bill: 'prompt',
    connection: 'gateway',
  },
  {
    end: 'the client gone, and the upstream fails',
    plays: () => later(whole(500, { error: { message: 'no' } })),
    client: leaves,
    settled: gone,
    bill: 'nothing',
    connection: 'kept',
  },
  {
    end: 'the client gone, and the upstream is reset',
    plays: () => later(thenReset()),
    client: leaves,
    settled: gone,
    bill: 'nothing',
    connection: 'upstream',
  },
  {
    end: 'the client gone, then the shutdown',
    plays: () => () => {},
    client: async (asked, books) => {
      await leaves(asked, books);
      await until(async () => (await books.gateway.metric('sluice_background_reads')) === 1);
      await books.gateway.gateway.close(50);
    },
    settled: { ...gone, end_reason: 'background_aborted' },
    bill: 'prompt',
    connection: 'gateway',
  },
  {
    end: 'the time limit, read on',
    overrides: limited,
    plays: kind => later(wholeReplyOf(kind)),
    settled: late,
    bill: 'all',
    connection: 'kept',
  },
  {
    end: 'the time limit, and the client gone after it',
    overrides: limited,
    plays: kind => later(wholeReplyOf(kind)),
    client: async asked => {
      await reads(asked);
      asked.connection.destroy();
    },
    settled: late,
    bill: 'all',
    connection: 'kept',
  },
  {
    end: 'the time limit, and the upstream fails after it',
    overrides: limited,
    plays: () => later(whole(500, { error: { message: 'no' } })),
    settled: late,
    bill: 'nothing',
    connection: 'kept',
  },
  {
    end: 'the time limit, and the upstream is reset after it',
    overrides: limited,
    plays: kind => later(thenReset(begun(kind))),
    settled: late,
    bill: 'nothing',
    connection: 'upstream',
  },
  {
    end: 'the time limit, then the shutdown',
    overrides: limited,
    plays: () => () => {},
    client: async (asked, books) => {
      await reads(asked);
      await until(async () => (await books.gateway.metric('sluice_background_reads')) === 1);
      await books.gateway.gateway.close(50);
    },
    settled: { ...late, end_reason: 'background_aborted' },
    bill: 'prompt',
    connection: 'gateway',
  },
  { end: 'a reset', plays: () => thenReset(), settled: failed, bill: 'nothing', connection: 'upstream' },
  {
    end: 'a reset in the middle',
    plays: kind => thenReset(begun(kind)),
    settled: failed,
    bill: 'nothing',
    connection: 'upstream',
  },
  {
    end: 'an end in the middle',
    plays: kind => thenClose(begun(kind)),
    settled: failed,
    bill: 'nothing',
    connection: 'upstream',
  },
  {
    end: 'a stall',
    overrides: impatient,
    plays: () => () => {},
    settled: failed,
    bill: 'nothing',
    connection: 'gateway',
  },
  {
    end: 'a stall in the middle',
    overrides: impatient,
    plays: begun,
    settled: failed,
    bill: 'nothing',
    connection: 'gateway',
  },
  {
    end: 'garbage',
    plays: () => whole(200, '{"choices":[{]}'),
    settled: failed,
    bill: 'nothing',
    connection: 'kept',
  },
  {
    end: 'an error under 200',
    plays: () => whole(200, { error: { message: 'no' } }),
    settled: failed,
    bill: 'nothing',
    connection: 'kept',
  },
  {
    end: 'an endless header',
    overrides: impatient,
    plays: () => head(200).slice(0, -2),
    settled: failed,
    bill: 'nothing',
    connection: 'gateway',
  },
  {
    end: 'an error status',
    plays: () => whole(503, { error: { message: 'no' } }),
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
    end: 'the shutdown',
    plays: () => () => {},
    client: closesGateway,
    settled: closing,
    bill: 'nothing',
    connection: 'gateway',
  },
  {
    end: 'the shutdown in the middle',
    plays: begun,
    client: closesGateway,
    settled: closing,
    bill: 'nothing',
    connection: 'gateway',
  },
];

/** Plays one end with one kind of usage. */
async function play(
  { overrides, plays, client = reads, ...expected }: End,
  kind: UsageKind,
  endpoint: (typeof settledEndpoints)[number]['endpoint'],
) {
  const books = await openBooks({ ...overrides, adapter: kind.adapter, endpoint });
  books.upstream.reply(plays(kind));
  const asked = books.ask();
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

describe.each(settledEndpoints)('a whole reply of $endpoint', ({ endpoint, kinds }) => {
  it.each(ends)('is settled once and correctly after: $end', async end => {
    await Promise.all(kinds.map(kind => play(end, kind, endpoint)));
  });
});
