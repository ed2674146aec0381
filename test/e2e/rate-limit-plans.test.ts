import { afterEach, describe, expect, it } from '@jest/globals';
import { MemoryStateStore } from '../../src/mount/state/counters/memory-state-store.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { completion, expectRefusal } from '../support/hostile-setting.ts';
import { closeLimited, type LimitedGateway, startLimited } from '../support/limited-gateway.ts';
import { whole } from '../support/scripted-upstream.ts';

afterEach(closeLimited);

const good = whole(200, completion('Yes.'));

/** How many of so many requests are admitted, one after the other. */
async function admittedOf(
  { upstream, send, idle }: LimitedGateway,
  count: number,
  more = {},
): Promise<number> {
  upstream.reply(good);
  let admitted = 0;
  for (let at = 0; at < count; at++) {
    const reply = await send(more);
    await reply.text();
    if (reply.status === 200) admitted++;
  }
  await idle();
  return admitted;
}

describe('the usage under a plan', () => {
  it('is not reset by a change of the plan', async () => {
    const clock = new FakeClock();
    const options = { clock, state: new MemoryStateStore(clock) };
    const on = (requests_per_minute: number) => startLimited({ requests_per_minute }, { options });
    expect(await admittedOf(await on(10), 8)).toBe(8);
    expect(await admittedOf(await on(5), 3)).toBe(0);
    expect(await admittedOf(await on(20), 20)).toBe(12);
    expect(await admittedOf(await on(10), 3)).toBe(0);
  });

  it('is shared by several gateways with one store', async () => {
    const clock = new FakeClock();
    const options = { clock, state: new MemoryStateStore(clock) };
    const gateways = await Promise.all(
      [1, 2, 3].map(() => startLimited({ requests_per_minute: 50 }, { options })),
    );
    const admitted = await Promise.all(gateways.map(gateway => admittedOf(gateway, 40)));
    expect(admitted.reduce((sum, count) => sum + count)).toBe(50);
  });

  it('stays in a store of the application, which remains open when a gateway closes', async () => {
    let closed = 0;
    const state = new (class extends MemoryStateStore {
      override async close() {
        closed++;
      }
    })(new FakeClock());
    const limited = await startLimited({ requests_per_minute: 1 }, { options: { state } });
    await limited.gateway.close();
    expect(closed).toBe(0);
  });
});

describe('the limits', () => {
  it('of a model hold in addition to those of the account', async () => {
    const model = 'aion-labs/aion-3.5';
    const other = 'aion-labs/aion-2.0';
    const limited = await startLimited({
      requests_per_minute: 8,
      models: { [model]: { requests_per_minute: 2 } },
    });
    expect(await admittedOf(limited, 4, { model })).toBe(2);
    const message = `Rate limit exceeded: 2 requests per minute for ${model}. Retry in 60 seconds.`;
    await expectRefusal(await limited.send({ model }), 429, 'rate_limit_error', message);
    // The three that the model's limit refused have counted as requests of the account.
    expect(await admittedOf(limited, 4, { model: other })).toBe(3);
    await expectRefusal(
      await limited.send({ model: other }),
      429,
      'rate_limit_error',
      'Rate limit exceeded: 8 requests per minute. Retry in 60 seconds.',
    );
  });

  it('in money count what was billed', async () => {
    const limited = await startLimited({ usd_per_month: { limit: '0.02', hard: false } });
    const usage = { prompt_tokens: 1000, completion_tokens: 1000 };
    limited.upstream.reply(whole(200, completion('Yes.', {}, { usage })));
    // 0.009 dollars each; the third goes over, and no fourth is let in.
    const statuses = [];
    for (let at = 0; at < 4; at++) {
      const reply = await limited.send();
      statuses.push(reply.status);
      await reply.text();
      await limited.idle();
    }
    expect(statuses).toEqual([200, 200, 429, 429]);
    await expectRefusal(
      await limited.send(),
      429,
      'rate_limit_error',
      'Monthly spending limit exceeded. Resets on 2026-12-01 at 00:00 UTC.',
    );
    expect(limited.remaining('usd_per_month', 1_000_000_000)).toBe(982_000_000);
  });

  it('of passed-through paths count what a reply without usage is estimated at', async () => {
    const passthrough = [{ path: '/v1/embeddings', methods: ['POST' as const], provider: 'upstream' }];
    const limited = await startLimited(
      { requests_per_minute: 2, tokens_per_minute: 1000, concurrent_requests: 1 },
      { config: { passthrough } },
    );
    limited.upstream.reply(whole(200, { data: [] }));
    const embed = () => limited.gateway.post({ input: 'Hello' }, { path: '/v1/embeddings' });
    const first = await embed();
    expect([first.status, first.headers.get('x-ratelimit-remaining-requests')]).toEqual([200, '1']);
    await first.text();
    await limited.idle();
    expect(limited.remaining('tokens_per_minute', 1000)).toBe(995);
    expect(await admittedOf(limited, 2)).toBe(1);
    await expectRefusal(await embed(), 429, 'rate_limit_error');
  });
});
