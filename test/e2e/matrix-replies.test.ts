import { describe, expect } from '@jest/globals';
import { completion } from '../support/hostile-setting.ts';
import { matrix, type Row } from '../support/matrix/matrix.ts';
import {
  completed,
  failed,
  gone,
  goneEarly,
  leavesBefore,
  leavesOnceAsked,
  noticed,
  release,
  silence,
  toldFailed,
  whenReleased,
} from '../support/matrix/parts.ts';
import { head, type Script, thenClose, thenReset, whole } from '../support/scripted-upstream.ts';
import { type UsageKind, usageKinds, wholeReplyOf } from '../support/settlement-answer.ts';

/** Whole replies to clients that have asked for no stream. */
const replies = (rows: readonly Row[]): Row[] => rows.map(row => ({ ways: ['whole'], ...row }));

const error = { error: { message: 'no' } };
const begun = (kind: UsageKind) => wholeReplyOf(kind).subarray(0, 600);
const untilTold = ({ client }: Parameters<NonNullable<Row['client']>>[0]) => client.received(/\}$/);

const no_reply = { told: toldFailed, settled: failed, bill: 'nothing' } as const;
const read_on = { client: leavesBefore, settled: { ...gone, status: 0 } } as const;
const kinds = usageKinds.slice(1);

const text = JSON.stringify(completion('Hello.'));
/** Less than its head announces, in its first bytes or with all of its JSON. */
const short = (bytes: number, connection: string) =>
  head(200, { 'content-type': 'application/json', 'content-length': 9000, connection }) +
  text.slice(0, bytes);
matrix(
  'a whole reply',
  replies([
    {
      when: 'it ends',
      plays: wholeReplyOf,
      kinds,
      told: { finish: 'stop' },
      settled: completed,
      bill: 'all',
      connection: 'kept',
    },
    {
      when: 'the client leaves at once after it',
      plays: wholeReplyOf,
      client: async exchange => {
        await untilTold(exchange);
        exchange.client.leave();
      },
      settled: completed,
      bill: 'all',
      connection: 'kept',
    },
    {
      when: 'the client leaves before it, and it is read on',
      plays: kind => whenReleased(wholeReplyOf(kind)),
      kinds,
      ...read_on,
      bill: 'all',
      connection: 'kept',
      mounts: ['sidecar', 'express'],
    },
    {
      when: 'the client leaves in its middle, and it is read on',
      plays: kind => (socket, request) => {
        socket.write(begun(kind));
        (whenReleased(wholeReplyOf(kind).subarray(600)) as Exclude<Script, string | Buffer>)(socket, request);
      },
      ...read_on,
      bill: 'all',
      connection: 'kept',
      mounts: ['sidecar', 'express'],
    },
    {
      when: 'the client leaves, and the upstream answers 500',
      plays: () => whenReleased(whole(500, error)),
      ...read_on,
      bill: 'nothing',
      connection: 'kept',
      mounts: ['sidecar', 'express'],
    },
    {
      when: 'the client leaves an application that aborts its own proxy',
      plays: () => silence,
      client: leavesOnceAsked,
      settled: goneEarly,
      bill: 'prompt',
      connection: 'gateway',
      mounts: ['chain'],
    },
    {
      when: 'the client leaves in the moment in which the upstream breaks off',
      plays: () => whenReleased(thenClose(short(20, 'close'))),
      ways: ['streamed', 'whole'],
      client: async exchange => {
        await leavesOnceAsked(exchange);
        await release(exchange);
      },
      settled: { end_reason: expect.stringMatching(/^(client_gone|upstream_failed)$/) as never },
    },
    { when: 'the upstream resets before it', plays: () => thenReset(), ...no_reply, connection: 'upstream' },
    { when: 'the upstream closes before it', plays: () => thenClose(), ...no_reply, connection: 'upstream' },
    {
      when: 'the upstream resets in its middle',
      plays: kind => thenReset(begun(kind)),
      ...no_reply,
      connection: 'upstream',
    },
    {
      when: 'the upstream closes in its middle',
      plays: kind => thenClose(begun(kind)),
      ...no_reply,
      connection: 'upstream',
    },
    { when: 'the upstream answers 503', plays: () => whole(503, error), ...no_reply, connection: 'kept' },
    ...([thenClose, thenReset] as const).map(
      (ends): Row => ({
        when: `all of its JSON comes, but not the length that was announced, ${ends.name}`,
        plays: () => ends(short(text.length, 'keep-alive')),
        ways: ['streamed', 'whole'],
        ...no_reply,
        connection: 'upstream',
      }),
    ),
  ]),
);

matrix(
  'a whole reply to a client that leaves where on_client_gone is abort',
  replies([
    {
      when: 'the upstream is at work',
      plays: () => silence,
      client: leavesOnceAsked,
      settled: goneEarly,
      bill: 'prompt',
      connection: 'gateway',
      mounts: ['sidecar', 'express'],
    },
  ]),
  { model: { on_client_gone: 'abort' } },
);

const late = { end_reason: 'time_limit', status: 524, error_type: 'timeout_error' } as const;
const toldLate = {
  status: 524,
  error: 'timeout_error',
  message: /^No complete answer within 2 seconds/,
  headers: { 'x-should-retry': 'false' },
} as const;
const readOnLate = {
  client: async (exchange: Parameters<typeof release>[0]) => {
    await untilTold(exchange);
    await release(exchange);
  },
  told: toldLate,
  settled: late,
} as const;
const limit_ms = 2000;
const limits = (more: object = {}) => ({ server: { non_stream_timeout_ms: limit_ms, ...more } });

matrix(
  'a whole reply past non_stream_timeout_ms',
  replies([
    {
      when: 'it is read on',
      plays: kind => whenReleased(wholeReplyOf(kind)),
      kinds,
      ...readOnLate,
      bill: 'all',
      connection: 'kept',
    },
    {
      when: 'the client leaves after the 524',
      plays: kind => whenReleased(wholeReplyOf(kind)),
      dialects: ['chat.completions'],
      client: async exchange => {
        await untilTold(exchange);
        exchange.client.leave();
        await noticed(exchange);
        await release(exchange);
      },
      settled: late,
      bill: 'all',
      connection: 'kept',
    },
    {
      when: 'the upstream resets in the middle after it',
      plays: kind => whenReleased(thenReset(begun(kind))),
      dialects: ['chat.completions'],
      ...readOnLate,
      bill: 'nothing',
      connection: 'upstream',
    },
    ...[-20, 20].map(offset_ms => ({
      when: `the upstream breaks off ${offset_ms} ms after it`,
      plays: () => (socket: Parameters<Exclude<Script, string | Buffer>>[0]) => {
        socket.write(short(20, 'close'));
        setTimeout(() => socket.end(), limit_ms + offset_ms);
      },
      dialects: ['chat.completions'] as const,
      client: untilTold,
      settled: { end_reason: expect.stringMatching(/^(time_limit|upstream_failed)$/) as never },
      bill: 'nothing' as const,
    })),
  ]),
  limits(),
);

/** Read on for a client that has been answered 524, or has left. */
const giveUps = [
  { how: 'its client is answered 524', row: { told: toldLate, settled: late }, setting: limits },
  {
    how: 'its client leaves',
    row: { client: leavesOnceAsked, settled: goneEarly, mounts: ['sidecar', 'express'] },
    setting: (server: object) => ({ server }),
  },
] as const;

describe.each(giveUps)('a whole reply that is not read on when $how', ({ row, setting }) => {
  const abandoned = [silence, begun(usageKinds[0]!)].map(script => ({
    ...row,
    when: script === silence ? 'before it' : 'in its middle',
    plays: () => script,
    ways: ['whole'] as const,
    dialects: ['chat.completions'] as const,
    settled: { ...row.settled, end_reason: 'background_aborted' as const },
    bill: 'prompt' as const,
    connection: 'gateway' as const,
  }));
  matrix('for longer than max_background_ms', abandoned, setting({ max_background_ms: 200 }));
  matrix('beside max_background others', abandoned, setting({ max_background: 0 }));
});
