import { afterEach, describe, expect, it } from '@jest/globals';
import type { Outcome } from '../../src/plugin.ts';
import { clientKey } from '../support/gateway-under-test.ts';
import { bothWays } from '../support/hostile-setting.ts';
import { type Asked, type Books, closeBalanced, openBooks } from '../support/settlement.ts';
import { expectBilled, usageKinds, wholeReplyOf } from '../support/settlement-answer.ts';
import { until } from '../support/until.ts';

afterEach(closeBalanced);

const [kind] = usageKinds;
const answered = ({ connection }: Asked) => connection.received(/^HTTP\/1\.1 \d+ [\s\S]*\}$/);
const unasked = { attempts: { length: 0 }, provider: undefined, cost_usd: '0' } as const;

/** Fails unless the exchange has asked nobody and costs nothing. */
async function expectFree({ upstream }: Books, asked: Asked, settled: Partial<Outcome>): Promise<void> {
  const outcome = await asked.settled();
  expect(outcome).toMatchObject({ ...unasked, ...settled });
  expectBilled(outcome.usage, kind!, 'nothing');
  expect(upstream.requests).toHaveLength(0);
}

const unauthorized = { end_reason: 'refused', status: 401, error_type: 'authentication_error' } as const;
const invalid = { end_reason: 'refused', status: 400, error_type: 'invalid_request_error' } as const;
const tester = { account: 'tester' } as const;
const model = { model: 'aion-labs/aion-3.5' } as const;

describe.each(bothWays)('a refusal before the upstream is asked, $way', ({ stream }) => {
  it.each([
    ['no key', {}, { authorization: '' }, { ...unauthorized, account: undefined, model: undefined }],
    ['a wrong key', {}, { authorization: 'Bearer no' }, { ...unauthorized, account: undefined }],
    ['an unknown model', { model: 'no/model' }, {}, { ...invalid, ...tester, model: undefined }],
    ['a wrong effort', { reasoning_effort: 'medium' }, {}, { ...invalid, ...tester, ...model }],
    ['too many choices', { n: 99 }, {}, { ...invalid, ...tester, ...model }],
    ['a body of another type', {}, { 'content-type': 'text/plain' }, { ...invalid, ...tester }],
    [
      'a body that is too large',
      { user: 'x'.repeat(20_000) },
      {},
      { ...invalid, ...tester, status: 413, model: undefined },
    ],
  ] as const)('costs nothing: %s', async (_, more, headers, settled) => {
    const books = await openBooks({ server: { max_body_bytes: 10_000 } });
    const asked = books.ask({ stream, ...more }, headers);
    await answered(asked);
    await expectFree(books, asked, settled);
  });

  it('costs nothing while the gateway closes', async () => {
    const books = await openBooks();
    books.upstream.reply(() => {});
    const running = books.ask({ stream });
    await until(() => books.upstream.requests.length === 1);
    const closed = books.gateway.gateway.close(500);
    const late = books.ask({ stream });
    await answered(late);
    const outcome = await late.settled();
    const facts = { end_reason: 'shutdown', status: 502, error_type: 'server_error' };
    expect(outcome).toMatchObject({ ...unasked, ...facts });
    await closed;
    expect(await running.settled()).toMatchObject({ ...facts, attempts: { length: 1 } });
  });
});

describe('a request that asks for no completion', () => {
  it.each([
    ['GET /v1/models HTTP/1.1', { end_reason: 'completed', status: 200, endpoint: 'models' }],
    ['HEAD /v1/models HTTP/1.1', { end_reason: 'completed', status: 200, endpoint: 'models' }],
    ['GET /v1/nothing HTTP/1.1', { end_reason: 'refused', status: 404, endpoint: 'unknown' }],
    ['GET /v1/chat/completions HTTP/1.1', { end_reason: 'refused', status: 405 }],
  ] as const)('costs nothing: %s', async (head, settled) => {
    const books = await openBooks();
    const asked = books.write(head);
    await asked.connection.received(/^HTTP\/1\.1 \d+ [\s\S]*\r\n\r\n/);
    await expectFree(books, asked, { account: undefined, model: undefined, ...settled });
  });

  it('costs nothing when its body is not JSON', async () => {
    const books = await openBooks();
    const head = `POST /v1/chat/completions HTTP/1.1\r\nauthorization: Bearer ${clientKey}\r\ncontent-length: 3`;
    const asked = books.write(head, '{"a');
    await answered(asked);
    await expectFree(books, asked, { ...invalid, ...tester, model: undefined });
  });

  it('costs nothing when its client leaves during the upload', async () => {
    const books = await openBooks();
    const head = `POST /v1/chat/completions HTTP/1.1\r\nauthorization: Bearer ${clientKey}\r\ncontent-length: 999`;
    const asked = books.write(head, '{"a');
    await until(() => books.gateway.gateway.inFlight === 1);
    asked.connection.destroy();
    await expectFree(books, asked, {
      ...tester,
      end_reason: 'client_gone',
      status: 0,
      error_type: undefined,
    });
  });
});

describe.each(bothWays)('a request to an unreachable upstream, $way', ({ stream }) => {
  it('costs nothing', async () => {
    const books = await openBooks();
    await books.upstream.close();
    const asked = books.ask({ stream, ...(stream && { stream_options: { continuous_usage_stats: true } }) });
    await answered(asked);
    const outcome = await asked.settled();
    const facts = { end_reason: 'upstream_failed', status: 502, error_type: 'provider_error', cost_usd: '0' };
    expect(outcome).toMatchObject({ ...facts, attempts: { length: 1 }, provider: 'upstream' });
    expectBilled(outcome.usage, kind!, 'nothing');
  });
});

describe.each(bothWays)('a request still in a stage, $way', ({ stream }) => {
  const slow = ['faulty', { place: 'nowhere', delay_ms: 300 }] as const;

  /** A connection to the upstream is there on which the request could go out at once. */
  async function warm(): Promise<Books> {
    const books = await openBooks({}, slow);
    books.upstream.replyOnce(wholeReplyOf(kind!));
    await answered(books.ask());
    return books;
  }

  it('is billed nothing and does not reach the upstream when its client leaves', async () => {
    const books = await warm();
    const asked = books.ask({ stream });
    await until(() => books.gateway.gateway.inFlight === 1);
    asked.connection.destroy();
    const outcome = await asked.settled();
    const facts = { end_reason: 'client_gone', status: 0, error_type: undefined };
    expect(outcome).toMatchObject({ ...unasked, ...tester, ...model, ...facts });
    expect(books.upstream.requests).toHaveLength(1);
  });

  it('does not reach the upstream when the gateway closes', async () => {
    const books = await warm();
    const asked = books.ask({ stream });
    await until(() => books.gateway.gateway.inFlight === 1);
    await books.gateway.gateway.close(50);
    await answered(asked);
    const outcome = await asked.settled();
    const facts = { end_reason: 'shutdown', status: 502, error_type: 'server_error' };
    expect(outcome).toMatchObject({ ...unasked, ...tester, ...model, ...facts });
    expect(books.upstream.requests).toHaveLength(1);
  });
});
