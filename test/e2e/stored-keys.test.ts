import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Sidecar, serve } from '../../src/cli/serve.ts';
import type { GatewayConfig } from '../../src/config/schema.ts';
import { post as postTo } from '../support/chain-app.ts';
import { ask, clientKey } from '../support/gateway-under-test.ts';
import { completion } from '../support/hostile-setting.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { type RecordsPlace, recordsPlace, runCommand } from '../support/records-place.ts';
import { type ScriptedUpstream, startScriptedUpstream, whole } from '../support/scripted-upstream.ts';
import { sidecarConfig } from '../support/sidecar-process.ts';
import { until } from '../support/until.ts';

/** Said in the documents: a change reaches every instance within this. */
const bound_ms = 5000;
const invalidKey = { error: { type: 'authentication_error', message: 'Invalid API key.' } };

let postgres: PostgresServer;
let upstream: ScriptedUpstream;

beforeAll(async () => {
  postgres = await startPostgres();
  upstream = await startScriptedUpstream(whole(200, completion('Hello.')));
});
afterAll(async () => {
  await upstream.close();
  await postgres.stop();
});

const post = ({ url }: Sidecar, key: string) =>
  postTo(`${url}/v1/chat/completions`, ask('Hello'), { authorization: `Bearer ${key}` });
const statusOf = async (sidecar: Sidecar, key: string): Promise<number> => {
  const response = await post(sidecar, key);
  await response.arrayBuffer();
  return response.status;
};

/** Waits until every sidecar answers with `status`. */
async function answering(
  sidecars: readonly Sidecar[],
  key: string,
  status: number,
  within_ms = bound_ms,
): Promise<void> {
  const all = sidecars.map(sidecar =>
    until(async () => (await statusOf(sidecar, key)) === status, within_ms),
  );
  await Promise.all(all);
}

describe('keys created by command', () => {
  let place: RecordsPlace;
  let config: GatewayConfig;
  let sidecars: Sidecar[];

  beforeAll(async () => {
    place = await recordsPlace(postgres.url);
    config = sidecarConfig(upstream.url, {
      stores: place.stores,
      plans: { small: { requests_per_minute: 2 }, large: { requests_per_minute: 1000 } },
    });
    config = { ...config, log: { level: 'silent' } };
    // One after the other: both bring the schema up to date.
    sidecars = [await serve(config), await serve(config)];
  }, 60_000);
  afterAll(async () => {
    await Promise.all(sidecars.map(sidecar => sidecar.close()));
    await place.remove();
  });

  const create = async (...args: readonly string[]) => {
    const { code, stdout, stderr } = await runCommand(config, 'keys', 'create', ...args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('cannot be shown again') });
    return { key: stdout.trim(), id: /key_\w+/.exec(stderr)![0] };
  };

  it('work at every instance at once and stop within the bound after they are revoked', async () => {
    const { key, id } = await create('--account', 'tester', '--name', 'e2e');
    expect(key).toMatch(/^sk-sluice-[\w-]{49}$/);
    for (const sidecar of sidecars) expect(await statusOf(sidecar, key)).toBe(200);

    const revoked = await runCommand(config, 'keys', 'revoke', id);
    expect(revoked.stdout).toContain(`revoked ${id}`);
    await answering(sidecars, key, 401);
    const refused = await post(sidecars[0]!, key);
    expect(await refused.json()).toEqual(invalidKey);
  });

  it('are replaced by rotation: both work for the overlap, and the old one ends within the bound', async () => {
    const old = await create('--account', 'tester', '--name', 'rotated');
    const rotate = async (id: string, ...args: readonly string[]) => {
      const { code, stdout, stderr } = await runCommand(config, 'keys', 'rotate', id, ...args);
      expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('The old key expires') });
      return { key: stdout.trim(), id: /key_\w+/.exec(stderr)![0] };
    };
    const next = await rotate(old.id, '--overlap', '1h');
    for (const { key } of [old, next]) expect(await statusOf(sidecars[0]!, key)).toBe(200);
    const last = await rotate(next.id, '--overlap', '0');
    await answering(sidecars, next.key, 401);
    expect(await statusOf(sidecars[0]!, last.key)).toBe(200);
    // For a day, if nothing else is said.
    const rotated_ms = Date.now();
    await rotate(last.id);
    const { expires_ms } = (await place.look(store => store.keys.find(last.id)))!;
    expect(expires_ms! - rotated_ms).toBeGreaterThanOrEqual(86_400_000);
    const again = await runCommand(config, 'keys', 'rotate', next.id);
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('has expired or is revoked')]);
  });

  it('are refused like unknown keys when they expire', async () => {
    // A slow machine may take longer to make a key than it is to last; then it gets one that lasts longer.
    const expiring = async (in_ms: number): Promise<{ key: string; id: string; in_ms: number }> => {
      const made = await create(
        '--account',
        'tester',
        '--expires',
        new Date(Date.now() + in_ms).toISOString(),
      )
        .then(async ({ key, id }) =>
          (await statusOf(sidecars[0]!, key)) === 200 ? { key, id, in_ms } : undefined,
        )
        .catch(() => undefined);
      return made ?? expiring(2 * in_ms);
    };
    const { key, id, in_ms } = await expiring(2500);
    await answering(sidecars, key, 401, in_ms + bound_ms);
    const refused = await post(sidecars[0]!, key);
    expect(await refused.json()).toEqual(invalidKey);
    expect((await place.look(store => store.keys.find(id)))!.expires_ms).toBeLessThanOrEqual(Date.now());
  });

  it('have the plan of their account, and a new plan within the bound', async () => {
    expect((await runCommand(config, 'accounts', 'create', 'acme', '--plan', 'small')).code).toBe(0);
    const { key } = await create('--account', 'acme');
    const [sidecar] = sidecars;
    expect([await statusOf(sidecar!, key), await statusOf(sidecar!, key)]).toEqual([200, 200]);
    expect(await statusOf(sidecar!, key)).toBe(429);
    expect((await runCommand(config, 'accounts', 'set-plan', 'acme', 'large')).code).toBe(0);
    await answering([sidecar!], key, 200);
  });

  it('work beside those of the configuration', async () => {
    for (const sidecar of sidecars) expect(await statusOf(sidecar, clientKey)).toBe(200);
    const taken = await runCommand(config, 'accounts', 'create', 'tester');
    expect(taken).toMatchObject({ code: 1, stderr: expect.stringContaining('in the configuration already') });
  });

  it('have no path on the public listener', async () => {
    for (const path of ['/v1/keys', '/v1/accounts', '/v1/api_keys', '/keys', '/v1/usage'])
      expect((await fetch(sidecars[0]!.url + path)).status).toBe(404);
  });

  it('are listed without their value', async () => {
    const { key, id } = await create('--account', 'acme', '--name', 'listed, "here"');
    const list = (...args: readonly string[]) => runCommand(config, 'keys', 'list', ...args);
    const [table, csv, json] = await Promise.all([
      list('--account', 'acme'),
      list('--account', 'acme', '--csv'),
      list('--search', id, '--format', 'json'),
    ]);
    expect(table.stdout).toMatch(new RegExp(`${id} +acme +listed, "here" +…${key.slice(-4)} `));
    expect(csv.stdout).toContain(`${id},acme,"listed, ""here""",…${key.slice(-4)},`);
    expect(JSON.parse(json.stdout)).toMatchObject([{ id, state: 'active', name: 'listed, "here"' }]);
    for (const { stdout } of [table, csv, json]) expect(stdout).not.toContain(key);
  });
});
