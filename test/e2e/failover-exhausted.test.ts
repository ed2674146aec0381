import { afterEach, describe, expect, it } from '@jest/globals';
import {
  allWell,
  askedOf,
  expectAnswerOf,
  expectNothing,
  failuresOf,
  openProviders,
} from '../support/failover-setting.ts';
import { bothWays } from '../support/hostile-setting.ts';
import { type Script, streamed, whole } from '../support/scripted-upstream.ts';
import { type Books, closeBalanced } from '../support/settlement.ts';

afterEach(closeBalanced);

const words = (text: string) => ({ error: { message: text, type: 'x' } });
const play = ({ upstreams }: Books, ...scripts: Script[]) => {
  for (const [at, script] of scripts.entries()) upstreams[at]!.reply(script);
};

describe.each(bothWays)('a request that every upstream fails ($way)', ({ stream }) => {
  it('receives the last failure, is not billed, and tries each upstream once', async () => {
    const books = await openProviders(3);
    play(
      books,
      whole(500, words('a')),
      whole(529, words('b')),
      whole(503, words('c'), { 'retry-after': '7' }),
    );
    const sent = await books.send(stream);
    expectNothing(sent, 502, 'provider_error');
    expect(sent.reply.headers.get('retry-after')).toBe('7');
    expect(sent.outcome).toMatchObject({
      end_reason: 'upstream_failed',
      provider: 'third',
      attempts: { length: 3 },
    });
    expect(failuresOf(sent.outcome)).toEqual(['upstream: status', 'second: status', 'third: status']);
    expect(askedOf(books)).toEqual([1, 1, 1]);
    expect(await books.gateway.metric('sluice_retries_denied_total', { reason: 'attempts' })).toBe(1);
  });

  it('receives a retryable 502 when only the last upstream is misconfigured', async () => {
    const books = await openProviders(2);
    play(books, whole(500, words('a')), whole(401, words('b')));
    const sent = await books.send(stream);
    expectNothing(sent, 502, 'provider_error');
    expect(failuresOf(sent.outcome)).toEqual(['upstream: status', 'second: misconfigured']);
    expect(await books.gateway.metric('sluice_retries_denied_total', { reason: 'upstreams' })).toBe(1);
  });

  it('receives a configuration error when every upstream is misconfigured', async () => {
    const books = await openProviders(2);
    play(books, whole(404, words('a')), whole(403, words('b')));
    expectNothing(await books.send(stream), 400, 'configuration_error');
  });

  it('receives the message of the second upstream when that one rejects the request', async () => {
    const books = await openProviders(2);
    play(books, whole(500, words('a')), whole(400, words('Too many tools.')));
    const sent = await books.send(stream);
    expectNothing(sent, 400, 'invalid_request_error');
    expect(sent.reply.text).toContain('Too many tools.');
    expect(sent.outcome).toMatchObject({ end_reason: 'refused', attempts: { length: 2 } });
  });

  it('receives one error event when the failure follows the heartbeat comments', async () => {
    const books = await openProviders(2, { server: { stream_commit_ms: 50 } });
    const late: Script = socket => void setTimeout(() => socket.write(whole(500, words('gpu-7'))), 150);
    play(books, late, late);
    const { reply, outcome } = await books.send(stream);
    if (!stream) return expect(reply.status).toBe(502);
    expect(reply.status).toBe(200);
    expect(reply.text.replaceAll(': keep-alive\n\n', '')).toMatch(
      /^data: \{"error":\{[^\n]*"type":"provider_error"\}\}\n\ndata: \[DONE\]\n\n$/,
    );
    expect(outcome.usage.prompt_tokens).toBe(0);
  });

  it('makes no more attempts than max_attempts', async () => {
    const books = await openProviders(4, { config: { routing: { max_attempts: 2 } } });
    const no = whole(500, words('no'));
    play(books, no, no, no, no);
    expectNothing(await books.send(stream), 502, 'provider_error');
    expect(askedOf(books)).toEqual([1, 1, 0, 0]);
  });

  it('makes no more attempts than the retry budget allows', async () => {
    // Three retries at first, and a hundredth for every request.
    const routing = { retry_ratio: 0.01, min_retries_per_second: 0.1 };
    const books = await openProviders(2, {
      config: { routing },
      provider: { breaker: { consecutive_failures: 0, failure_ratio: 1 } },
    });
    allWell(books);
    books.upstream.reply(whole(500, words('no')));
    for (let count = 0; count < 3; count++) expectAnswerOf(2, await books.send(stream), ['upstream: status']);
    expectNothing(await books.send(stream), 502, 'provider_error');
    expect(askedOf(books)).toEqual([4, 3]);
    expect(await books.gateway.metric('sluice_retries_denied_total', { reason: 'budget' })).toBe(1);
  });
});

describe('a late first event', () => {
  it('is still covered by failover after heartbeat comments', async () => {
    const books = await openProviders(2, { server: { stream_commit_ms: 50 } });
    allWell(books);
    const error = streamed(`data: ${JSON.stringify(words('gpu-7'))}\n\n`);
    books.upstream.reply(socket => void setTimeout(() => socket.write(error), 300));
    const sent = await books.send(true);
    expect(sent.reply.text.startsWith(': keep-alive\n\n')).toBe(true);
    expectAnswerOf(2, sent, ['upstream: status']);
  });
});
