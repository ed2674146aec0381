import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { checkState } from '../../src/cli/doctor/store-checks.ts';
import type { Finding } from '../../src/common/finding.ts';
import { stateServerAt } from '../../src/config/state-server.ts';
import { closeStores, loadOf, storeOf } from '../support/limit-load.ts';
import { type RedisSentinelServers, startRedisSentinel } from '../support/redis-sentinel-servers.ts';
import { limit } from '../support/state-store-contract.ts';
import { until } from '../support/until.ts';

let sentinel: RedisSentinelServers;

beforeAll(async () => {
  sentinel = await startRedisSentinel({ password: 'p-ss', sentinel_password: 'other' });
});
afterEach(closeStores);
afterAll(() => sentinel?.stop());

const open = (url = sentinel.url) => storeOf({ url, timeout_ms: 1000, policies: { default: 'closed' } });
const parallel = 3;

describe('a primary that Sentinels name', () => {
  it('is what `sluice doctor` asks, which reports a name that they do not know, and a server that is no cluster', async () => {
    const found = async (url: string) => {
      const [{ status, found, remedy }] = (await checkState(stateServerAt(url))) as [Finding];
      expect(`${found} ${remedy}`).not.toContain('p-ss');
      return `${status}: ${found} → ${remedy}`;
    };
    expect(await found(sentinel.url)).toMatch(
      /^(?:ok|warning): redis\+sentinel:.*, primary mymaster, version .*, answers in/,
    );
    const unknown = sentinel.url.replace('mymaster', 'other');
    expect(await found(unknown)).toMatch(/^fault: .*primary other: .*No such master/);
    const single = `redis+cluster://:p-ss@127.0.0.1:${sentinel.servers[0]!.port}`;
    expect(await found(single)).toMatch(/^fault: .* → .*write redis:\/\//);
  });

  it('is not reached with a wrong password of the Sentinels, and the reason is told', async () => {
    const { store } = await open(sentinel.url.replace('=other', '=wrong'));
    await until(() => String((store.outage?.cause as Error | undefined)?.message).includes('WRONGPASS'));
  });

  it('is found with one Sentinel lost, and limits hold over its failover', async () => {
    await sentinel.killSentinel(0);
    const opened = [await open(), await open()];
    const max = 600;
    const limits = [limit('requests_per_minute', max), limit('concurrent_requests', 50)];
    const running = loadOf(opened, 'demo', limits, parallel);
    await until(() => running.admitted > 50);
    await sentinel.servers[0]!.kill();
    await until(() => running.failed > 0);
    const { admitted } = running;
    expect(admitted).toBeLessThan(max);
    await until(() => running.refused > 20, 15_000);
    // What a primary has not sent to its replicas when it ends is lost: less than what was under way.
    expect(running.admitted).toBeGreaterThan(admitted);
    expect(running.admitted).toBeLessThanOrEqual(max + opened.length * parallel);
    await until(() => opened.every(({ store }) => store.outage === undefined), 15_000);
    await until(async () => (await opened[0]!.metric('sluice_state_settlements_waiting')) === 0, 15_000);
  });
});
