import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { type RecordsPlace, recordsPlace } from '../support/records-place.ts';
import { type Fleet, type Sent, startFleet } from '../support/sidecar-fleet.ts';
import { until } from '../support/until.ts';

const never = 1_000_000_000;
/** Heard of at a third: a busy machine may keep the living instance from it for seconds. */
const lease_ms = 6000;
let fleet: Fleet;
let postgres: PostgresServer;
let place: RecordsPlace;

beforeAll(async () => {
  postgres = await startPostgres();
  place = await recordsPlace(postgres.url);
  fleet = await startFleet({
    instances: 2,
    killable: true,
    limits: {
      burst: { requests_per_minute: 137, tokens_per_day: never },
      parallel: { concurrent_requests: 10, tokens_per_day: never },
      tokens: { tokens_per_day: 5000 },
      told: { requests_per_minute: 1 },
      held: { concurrent_requests: 6, tokens_per_day: never },
    },
    // A machine that is busy with other tests is no outage.
    stores: { state_timeout_ms: 10_000, state_lease_ms: lease_ms, ...place.stores },
  });
}, 60_000);
afterAll(async () => {
  await fleet?.stop();
  await place?.remove();
  await postgres?.stop();
});

const admitted = (sent: readonly Sent[]) => sent.filter(({ status }) => status === 200).length;
const refused = (sent: readonly Sent[]) => sent.filter(({ status }) => status === 429).length;
const tokensIn = ({ text }: Sent): number =>
  (JSON.parse(text) as { usage?: { total_tokens: number } }).usage?.total_tokens ?? 0;
const tokensOf = (sent: readonly Sent[]) => sent.reduce((sum, one) => sum + tokensIn(one), 0);
describe('two instances with one Redis', () => {
  it('admit exactly the limit out of 300 parallel requests, and Redis, the ledger and the upstream agree', async () => {
    const { requests, tokens: reported } = fleet.upstream;
    const sent = await fleet.sendMany('burst', 300);
    expect([admitted(sent), refused(sent)]).toEqual([137, 163]);
    expect(fleet.upstream.requests - requests).toBe(137);
    const tokens = tokensOf(sent);
    expect(fleet.upstream.tokens - reported).toBe(tokens);
    await until(async () => (await fleet.tokensOfDay('burst')) === tokens);
    await place.look(({ usage }) =>
      until(async () => {
        const [sum] = await usage.sum({ account: 'burst', by: [] });
        return sum !== undefined && sum.prompt_tokens + sum.completion_tokens === tokens;
      }),
    );
    expect(await fleet.metric('sluice_state_alone_total')).toBe(0);
  });

  it('run no more requests at once than the limit, and as many again afterwards', async () => {
    for (let round = 0; round < 2; round++) {
      fleet.upstream.hold(Number.POSITIVE_INFINITY);
      let answered = 0;
      const sending = Array.from({ length: 100 }, async () => {
        const sent = await fleet.send('parallel');
        answered++;
        return sent;
      });
      await until(() => fleet.upstream.held === 10 && answered === 90);
      fleet.upstream.release();
      const sent = await Promise.all(sending);
      expect([admitted(sent), refused(sent)]).toEqual([10, 90]);
      await until(async () => (await fleet.leases('parallel')) === 0);
    }
  });

  it('exceed a token limit by no more than the estimate errors of the requests in flight', async () => {
    const parallel = 20;
    const largest = 16 + 90;
    let used = 0;
    for (let round = 0; ; round++) {
      const sent = await fleet.sendMany('tokens', parallel);
      used += tokensOf(sent);
      if (admitted(sent) === 0) break;
      expect(round).toBeLessThan(50);
    }
    await until(async () => (await fleet.tokensOfDay('tokens')) === used);
    expect(used).toBeLessThan(5000 + parallel * largest);
    // Refused were the last because a reservation did not fit, which is no more than a completion as they have been.
    expect(used).toBeGreaterThan(5000 - 2 * largest);
  });

  it('report the same status of an account from every instance', async () => {
    const first = await fleet.send('told', 0);
    expect([first.status, first.headers.get('x-ratelimit-remaining-requests')]).toEqual([200, '0']);
    const { status, headers } = await fleet.send('told', 1);
    expect(status).toBe(429);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(50);
    expect(headers.get('x-ratelimit-limit-requests')).toBe('1');
    // Both know of both, one has admitted the last request, and the other has refused one.
    await until(async () => (await fleet.metric('sluice_state_instances')) === 4);
    expect(await fleet.metric('sluice_limit_used_ratio', 'account="told"')).toBe(2);
  });

  it('get the permits of a killed one back after its lease, and keep those of the living', async () => {
    const { upstream } = fleet;
    const refused = async () => (await fleet.send('held', 0)).status === 429;
    upstream.hold(6);
    const living = [1, 2].map(() => fleet.send('held', 0));
    const dying = [1, 2, 3, 4].map(() => fleet.send('held', 1).catch(() => undefined));
    await until(() => upstream.held === 6);
    expect(await refused()).toBe(true);
    fleet.kill();
    expect(await Promise.all(dying)).toEqual([undefined, undefined, undefined, undefined]);
    expect(await refused()).toBe(true);
    await until(async () => !(await refused()), lease_ms + 2000);

    // Beyond the lease the living instance still holds its own: four more are free, and no fifth.
    await sleep(lease_ms);
    upstream.hold(4);
    const four = [1, 2, 3, 4].map(() => fleet.send('held', 0));
    await until(() => upstream.held === 10);
    expect(await refused()).toBe(true);
    upstream.release();
    for (const sent of await Promise.all([...living, ...four])) expect(sent).toMatchObject({ status: 200 });
    await until(async () => (await fleet.leases('held')) === 0);
  });
});
