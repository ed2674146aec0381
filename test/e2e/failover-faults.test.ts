import { afterEach, describe, expect, it } from '@jest/globals';
import { coveredFaults, type Fault } from '../support/failover-faults.ts';
import {
  allWell,
  answering,
  askedOf,
  expectAnswerOf,
  expectNothing,
  type FleetOverrides,
  nobodyThere,
  openProviders,
} from '../support/failover-setting.ts';
import { startScriptedUpstream } from '../support/scripted-upstream.ts';
import { type Books, closeBalanced, openBooksOf } from '../support/settlement.ts';

afterEach(closeBalanced);

/** Both kinds of requests that can meet the fault. */
const waysOf = ({ only }: Fault): boolean[] =>
  only === 'streams' ? [true] : only === 'whole replies' ? [false] : [true, false];

/** The second provider answers for the first, for both kinds of requests, and nothing is left behind. */
async function expectCovered(books: Books, ways: readonly boolean[], kind: string): Promise<void> {
  for (const stream of ways) expectAnswerOf(2, await books.send(stream), [`upstream: ${kind}`]);
  const covered = { from: 'upstream', to: 'second', kind };
  expect(await books.gateway.metric('sluice_failovers_total', covered)).toBe(ways.length);
  expect(await books.gateway.metric('sluice_upstream_errors_total')).toBe(ways.length);
  expect(await books.gateway.metric('sluice_provider_in_flight')).toBe(0);
}

/** A provider that has said when it wants to be asked again is not asked before. */
const rests = ({ fault, kind }: Fault) =>
  kind === 'rate_limited' || kind === 'misconfigured' || fault.includes('Retry-After');

describe('failover to the second provider', () => {
  it.each(coveredFaults)('covers $fault', async fault => {
    const ways = waysOf(fault);
    // Where the first request makes the provider rest, each kind of request has a gateway of its own.
    for (const some of rests(fault) ? ways.map(way => [way]) : [ways]) {
      const books = await openProviders(2, { providers: [fault.provider ?? {}] });
      allWell(books);
      books.upstream.reply(fault.plays);
      await expectCovered(books, some, fault.kind);
      expect(askedOf(books)).toEqual([some.length, some.length]);
    }
  });

  it('covers a refused connection', async () => {
    const books = await openBooksOf([await nobodyThere(), await startScriptedUpstream()]);
    allWell(books);
    await expectCovered(books, [true, false], 'unreachable');
  });

  it('covers a host name that does not resolve', async () => {
    const base_url = 'http://no-such-host.invalid/v1';
    const books = await openProviders(2, { providers: [{ base_url }] });
    allWell(books);
    await expectCovered(books, [true, false], 'unreachable');
  });

  it('covers a TLS handshake that times out', async () => {
    const silent = await startScriptedUpstream(() => {});
    const base_url = silent.url.replace('http:', 'https:');
    const books = await openProviders(2, { providers: [{ base_url, connect_timeout_ms: 300 }] });
    allWell(books);
    await expectCovered(books, [true, false], 'timeout');
    await silent.close();
  });
});

describe('failover to the third provider', () => {
  const overrides: FleetOverrides = { providers: [{ first_token_timeout_ms: 400, total_timeout_ms: 800 }] };

  it.each(coveredFaults)('covers $fault at the first and a 500 at the second', async fault => {
    for (const stream of waysOf(fault)) {
      const books = await openProviders(3, overrides);
      allWell(books);
      books.upstream.reply(fault.plays);
      books.upstreams[1]!.reply('HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n');
      expectAnswerOf(3, await books.send(stream), [`upstream: ${fault.kind}`, 'second: status']);
      expect(askedOf(books)).toEqual([1, 1, 1]);
    }
  });
});

describe('a failed attempt', () => {
  it('is closed before the next one begins', async () => {
    const books = await openProviders(2, { providers: [{ first_token_timeout_ms: 1000 }] });
    books.upstream.reply(() => {});
    const closedBefore: boolean[] = [];
    books.upstreams[1]!.reply(async (socket, request) => {
      await new Promise(resolve => setTimeout(resolve, 50));
      closedBefore.push(books.upstream.last.isClosed);
      await (answering(2) as (...args: unknown[]) => unknown)(socket, request);
    });
    const sent = await books.send(true);
    expectAnswerOf(2, sent, ['upstream: timeout']);
    expect(closedBefore).toEqual([true]);
    expect(await books.upstream.last.closed).toBe('gateway');
    // Both waits, and they are not the gateway's own time.
    expect(sent.outcome.timings.upstream_wait_ms).toBeGreaterThan(1045);
    expect(await books.gateway.metric('sluice_overhead_seconds_sum')).toBeLessThan(0.9);
  });

  it('is rebuilt for the next provider with its model name, key and format', async () => {
    const books = await openProviders(2, {
      adapter: 'vllm',
      providers: [{}, { adapter: 'openai', api_key: 'sk-of-the-second-0123456789' }],
      standings: [{ model: 'name-here' }, { model: 'name-there' }],
    });
    allWell(books);
    books.upstream.reply('HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n');
    expectAnswerOf(2, await books.send(true, { reasoning_effort: 'low' }), ['upstream: status']);
    const [first, second] = books.upstreams.map(({ last }) => last);
    expect(first?.body).toMatchObject({
      model: 'name-here',
      chat_template_kwargs: { enable_thinking: true },
    });
    expect(second?.body).toMatchObject({ model: 'name-there', reasoning_effort: 'low' });
    expect(second?.body).not.toHaveProperty('chat_template_kwargs');
    expect(second?.headers.authorization).toBe('Bearer sk-of-the-second-0123456789');
    expect(second?.text).not.toContain('name-here');
    expect(second?.body.messages).toEqual(first?.body.messages);
  });
});

describe('a provider whose adapter does not support a request', () => {
  const providers = [{ adapter: 'anthropic' }];

  it('is skipped without counting as a failure', async () => {
    const books = await openProviders(2, { providers });
    allWell(books);
    for (const stream of [true, false]) {
      const { outcome } = await books.send(stream, { n: 2 });
      expect(outcome).toMatchObject({
        end_reason: 'completed',
        provider: 'second',
        attempts: { length: 1 },
      });
    }
    expect(askedOf(books)).toEqual([0, 2]);
    expect(await books.gateway.metric('sluice_failovers_total')).toBe(0);
  });

  it('causes a 400 that names the field when no other provider is left', async () => {
    const books = await openProviders(2, { providers: [...providers, ...providers] });
    const sent = await books.send(false, { n: 2 });
    expectNothing(sent, 400, 'invalid_request_error');
    expect(sent.reply.text).toContain('n: must be 1');
    expect(sent.outcome).toMatchObject({ end_reason: 'refused', attempts: { length: 0 } });
    expect(askedOf(books)).toEqual([0, 0]);
  });
});
