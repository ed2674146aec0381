import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type Fleet, type Sent, startFleet } from '../support/sidecar-fleet.ts';
import { SteadyLoad } from '../support/steady-load.ts';
import { patience_ms, until } from '../support/until.ts';

const never = 1_000_000_000;
/** Long, so that a machine that is busy with other tests does not take longer by itself. */
const timeout_ms = 2000;
const load = { tokens_per_day: never, concurrent_requests: 1000 };
const shared = { requests_per_minute: 8 };

let fleet: Fleet;

beforeAll(async () => {
  fleet = await startFleet({
    instances: 2,
    limits: {
      paused: load,
      share: shared,
      money: { usd_per_month: 1000 },
      daily: { tokens_per_day: never },
      warm: load,
    },
    stores: { state_timeout_ms: timeout_ms, on_state_store_down: { usd_per_month: 'closed' } },
  });
  // The first requests are slow.
  for (let round = 0; round < 3; round++) await fleet.sendMany('warm', 20);
}, 60_000);
afterEach(() => fleet?.redis.resume());
afterAll(() => fleet?.stop());

const isOut = async () => {
  const readiness = await Promise.all([0, 1].map(instance => fleet.readiness(instance)));
  return readiness.every(({ text }) => text.includes('the state store has been down'));
};
const isBack = async () => (await fleet.metric('sluice_store_up', 'operation="heartbeat"')) === 2;
const statuses = (sent: readonly Sent[]) => [...new Set(sent.map(({ status }) => status))];
const tokensOf = (sent: readonly Sent[]) =>
  sent
    .map(({ text }) => JSON.parse(text) as { usage: { total_tokens: number } })
    .reduce((sum, { usage }) => sum + usage.total_tokens, 0);

/** From the request `unheld` on none has waited, all have been answered, and Redis has counted all that they used. */
async function expectWhole(account: string, running: SteadyLoad, unheld: number): Promise<void> {
  expect([statuses(running.answered), running.failed]).toEqual([[200], 0]);
  expect(running.longestFrom(unheld)).toBeLessThan(timeout_ms);
  // Those before it have waited until the outage was noticed, which a busy machine does late.
  expect(running.longest_ms).toBeLessThan(patience_ms(2 * timeout_ms));
  const used = tokensOf(running.answered);
  await until(async () => (await fleet.tokensOfDay(account)) === used);
  await until(async () => (await fleet.leases(account)) === 0);
  expect(await fleet.metric('sluice_state_settlements_waiting')).toBe(0);
}

describe('two instances under load', () => {
  it('delay no request while Redis is paused, and report all usage when it resumes', async () => {
    const running = new SteadyLoad(fleet, 'paused', 30);
    await running.more(20);
    fleet.redis.pause();
    await until(isOut);
    const unheld = running.sent;
    await running.more(45);
    expect(await isOut()).toBe(true);
    fleet.redis.resume();
    await until(isBack);
    await running.more(30);
    await running.end();
    await expectWhole('paused', running, unheld);
  });
});

describe('two instances while Redis is down', () => {
  beforeAll(async () => {
    await fleet.redis.kill();
    // Whoever asks notices.
    await until(async () => {
      await fleet.sendMany('daily', 8);
      return isOut();
    });
  });
  afterAll(async () => {
    await fleet.redis.restart();
    await until(isBack);
  });

  it('admit their shares of a limit', async () => {
    const byInstance = await Promise.all(
      [0, 1].map(instance => Promise.all([1, 2, 3, 4, 5].map(() => fleet.send('share', instance)))),
    );
    const admitted = byInstance.map(sent => sent.filter(({ status }) => status === 200).length);
    expect(admitted).toEqual([4, 4]);
    const refused = byInstance.flat().find(({ status }) => status === 429)!;
    expect(refused.text).toContain('8 requests per minute');
  });

  it('answer 502 with Retry-After to accounts whose limit is closed', async () => {
    for (const instance of [0, 1]) {
      const { status, headers, text } = await fleet.send('money', instance);
      expect([status, headers.get('retry-after')]).toEqual([502, '1']);
      expect(JSON.parse(text)).toMatchObject({ error: { type: 'server_error' } });
      expect(text).not.toMatch(/redis|ECONNREFUSED|store/i);
    }
  });

  it('report the outage at /readyz and stay in rotation', async () => {
    for (const instance of [0, 1]) {
      const { status, text } = await fleet.readiness(instance);
      expect(status).toBe(200);
      expect(text).toMatch(/^ready\nthe state store has been down for \d+ s, .+: .+\n$/);
    }
  });
});

it('takes an instance whose limits are all closed out of rotation while Redis is down', async () => {
  const closed = await startFleet({
    instances: 1,
    limits: { any: { requests_per_minute: 100 } },
    stores: { on_state_store_down: { default: 'closed' } },
  });
  try {
    expect(await closed.readiness(0)).toEqual({ status: 200, text: 'ready\n' });
    await closed.redis.kill();
    await until(async () => {
      await closed.send('any');
      return (await closed.readiness(0)).status === 503;
    });
    expect((await closed.send('any')).status).toBe(502);
    await closed.redis.restart();
    await until(async () => (await closed.readiness(0)).status === 200);
    expect((await closed.send('any')).status).toBe(200);
  } finally {
    await closed.stop();
  }
});
