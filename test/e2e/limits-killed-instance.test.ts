import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type Fleet, startFleet } from '../support/sidecar-fleet.ts';
import { until } from '../support/until.ts';

const lease_ms = 3000;
let fleet: Fleet;

beforeAll(async () => {
  fleet = await startFleet({
    instances: 2,
    limits: { tester: { concurrent_requests: 6, tokens_per_day: 1_000_000_000 } },
    stores: { state_lease_ms: lease_ms },
  });
}, 60_000);
afterAll(() => fleet?.stop());

it('releases the permits of a killed instance after the lease and keeps those of living instances', async () => {
  const { upstream, sidecars } = fleet;
  const refused = async () => (await fleet.send('tester', 0)).status === 429;
  upstream.hold(6);
  const living = [1, 2].map(() => fleet.send('tester', 0));
  const dying = [1, 2, 3, 4].map(() => fleet.send('tester', 1).catch(() => undefined));
  await until(() => upstream.held === 6);
  expect(await refused()).toBe(true);

  sidecars[1]!.signal('SIGKILL');
  const killed_ms = performance.now();
  expect(await Promise.all(dying)).toEqual([undefined, undefined, undefined, undefined]);
  expect(await refused()).toBe(true);
  await until(async () => !(await refused()), lease_ms + 2000);
  expect(performance.now() - killed_ms).toBeLessThan(lease_ms + 2000);

  // Far beyond the lease the living instance still holds its own: four more are free, and no fifth.
  await sleep(1.5 * lease_ms);
  upstream.hold(4);
  const four = [1, 2, 3, 4].map(() => fleet.send('tester', 0));
  await until(() => upstream.held === 10);
  expect(await refused()).toBe(true);
  upstream.release();
  for (const sent of await Promise.all([...living, ...four])) expect(sent).toMatchObject({ status: 200 });
  await until(async () => (await fleet.leases('tester')) === 0);
});
