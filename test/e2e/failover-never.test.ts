import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  allWell,
  askedOf,
  expectBroken,
  expectNothing,
  failuresOf,
  openProviders,
} from '../support/failover-setting.ts';
import { completion, delta, finished, said } from '../support/hostile-setting.ts';
import {
  chunk,
  events,
  type Script,
  streamed,
  streamHead,
  thenClose,
  thenReset,
  whole,
} from '../support/scripted-upstream.ts';
import { closeBalanced } from '../support/settlement.ts';

afterEach(closeBalanced);

const usage = (completion_tokens: number) => ({ usage: { prompt_tokens: 50, completion_tokens } });
const role = delta({ role: 'assistant', content: '' }, null, usage(0));
const begun = events(role, delta({ content: 'Once upon' }, null, usage(2)));
const error = { error: { message: 'no', type: 'x' } };

describe('a stream that fails after its first content', () => {
  const ends: readonly { end: string; kind: string; plays: Script }[] = [
    { end: 'a reset', kind: 'broken', plays: thenReset(streamHead(), chunk(begun)) },
    { end: 'a close', kind: 'broken', plays: thenClose(streamHead(), chunk(begun)) },
    { end: 'an end without a finish', kind: 'broken', plays: streamed(begun) },
    { end: '[DONE] without a finish', kind: 'broken', plays: streamed(`${begun}data: [DONE]\n\n`) },
    { end: 'an error event', kind: 'status', plays: streamed(begun + events(error)) },
    { end: 'garbage', kind: 'invalid', plays: streamed(`${begun}data: gpu-7\n\n`) },
    { end: 'finish_reason error', kind: 'broken', plays: streamed(begun + events(finished('error'))) },
    { end: 'silence', kind: 'timeout', plays: socket => void socket.write(streamHead() + chunk(begun)) },
  ];

  it.each(ends)(
    'ends with an error event, is billed for what was sent, and is not retried: $end',
    async ({ kind, plays }) => {
      const books = await openProviders(2, { providers: [{ total_timeout_ms: 700 }] });
      allWell(books);
      books.upstream.reply(plays);
      const sent = await books.send(true);
      expectBroken(sent, 'Once upon');
      expect(sent.outcome).toMatchObject({
        end_reason: 'upstream_failed',
        provider: 'upstream',
        attempts: { length: 1 },
        usage: { prompt_tokens: 50, completion_tokens: 2, estimated: false },
      });
      expect(failuresOf(sent.outcome)).toEqual([`upstream: ${kind}`]);
      expect(askedOf(books)).toEqual([1, 0]);
      expect(await books.gateway.metric('sluice_failovers_total')).toBe(0);
    },
  );

  it.each([
    ['reasoning', { reasoning: 'Hm' }],
    [
      'a tool call',
      {
        tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'roll', arguments: '' } }],
      },
    ],
    ['a refusal', { refusal: 'I' }],
    ['only the end', {}],
  ])('is not retried when that content is %s', async (what, fields) => {
    const books = await openProviders(2);
    allWell(books);
    const last = what === 'only the end' ? finished() : delta(fields);
    books.upstream.reply(thenReset(streamHead(), chunk(events(role, last))));
    const { reply } = await books.send(true);
    expect(reply.status).toBe(200);
    expect(askedOf(books)).toEqual([1, 0]);
  });

  it('is not retried when that content followed heartbeat comments', async () => {
    const books = await openProviders(2, { server: { stream_commit_ms: 50 } });
    allWell(books);
    books.upstream.reply(async socket => {
      socket.write(streamHead());
      await sleep(200);
      socket.write(chunk(begun));
      await sleep(50);
      socket.resetAndDestroy();
    });
    const sent = await books.send(true);
    expect(sent.reply.text.startsWith(': keep-alive\n\n')).toBe(true);
    expectBroken(sent, 'Once upon');
    expect(askedOf(books)).toEqual([1, 0]);
  });
});

describe('failover', () => {
  const reply = whole(200, completion('The whole of it, generated and paid for.'));

  it.each<[string, Script, string]>([
    ['a reset', thenReset(reply.subarray(0, 500)), 'broken'],
    ['an end', thenClose(reply.subarray(0, 500)), 'broken'],
    ['silence', socket => void socket.write(reply.subarray(0, 500)), 'timeout'],
  ])('does not follow a whole reply that broke after it began: %s', async (_, plays, kind) => {
    const books = await openProviders(2, { providers: [{ total_timeout_ms: 700 }] });
    allWell(books);
    books.upstream.reply(plays);
    const sent = await books.send(false);
    expectNothing(sent, 502, 'provider_error');
    expect(failuresOf(sent.outcome)).toEqual([`upstream: ${kind}`]);
    expect(askedOf(books)).toEqual([1, 0]);
  });

  it.each([true, false])('does not follow a reply that is too large (stream: %s)', async stream => {
    const books = await openProviders(2, { provider: { max_event_bytes: 2000, max_reply_bytes: 2000 } });
    allWell(books);
    const large = 'x'.repeat(5000);
    books.upstream.reply(stream ? streamed(events(said(large))) : whole(200, completion(large)));
    expectNothing(await books.send(stream), 502, 'provider_error');
    expect(askedOf(books)).toEqual([1, 0]);
  });

  it.each([
    [400, true],
    [400, false],
    [413, true],
    [413, false],
    [422, true],
    [422, false],
  ])('does not follow a %d, which is a fault of the request (stream: %s)', async (status, stream) => {
    const books = await openProviders(2);
    allWell(books);
    books.upstream.reply(whole(status, error));
    const sent = await books.send(stream);
    expectNothing(sent, 400, 'invalid_request_error');
    expect(sent.outcome).toMatchObject({
      end_reason: 'refused',
      attempts: { length: 1 },
      provider: 'upstream',
    });
    expect(askedOf(books)).toEqual([1, 0]);
  });

  it.each([true, false])('does not happen when max_attempts is 1 (stream: %s)', async stream => {
    const books = await openProviders(2, { config: { routing: { max_attempts: 1 } } });
    allWell(books);
    books.upstream.reply(whole(500, error));
    expectNothing(await books.send(stream), 502, 'provider_error');
    expect(askedOf(books)).toEqual([1, 0]);
  });
});
