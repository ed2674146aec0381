import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import type { GatewayConfig } from '../../src/config/schema.ts';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { runHere } from '../support/command-here.ts';
import { ask, clientKey } from '../support/gateway-under-test.ts';
import { type ConfiguredSidecar, sidecarConfig, startSidecar } from '../support/sidecar-process.ts';
import { until } from '../support/until.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-reload-'));
const socket = join(folder, 'admin.sock');
const other_key = 'sk-another-key-0123456789';
const others = { accounts: { other: { keys: [{ value: other_key }] } } };
let simulator: Simulator;
let sidecars: ConfiguredSidecar[] = [];

beforeAll(async () => {
  simulator = await startSimulator();
});
afterEach(async () => {
  for (const sidecar of sidecars) sidecar.signal('SIGKILL');
  await Promise.all(sidecars.map(({ exited }) => exited));
  sidecars = [];
});
afterAll(async () => {
  await simulator.close();
  rmSync(folder, { recursive: true });
});

const log = { level: 'info', format: 'json' };
const configOf = (sections: object = {}) =>
  sidecarConfig(simulator.url, { log, ...sections } as Partial<GatewayConfig>);
const withSocket = { admin: { port: 0, socket } };

async function start(sections: object = {}): Promise<ConfiguredSidecar> {
  const sidecar = await startSidecar(configOf(sections));
  sidecars.push(sidecar);
  return sidecar;
}

const statusOf = async ({ url }: ConfiguredSidecar, key: string): Promise<number> => {
  const reply = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(ask('Hello [[sim:tokens=1]]')),
  });
  await reply.text();
  return reply.status;
};

const serves = async (sidecar: ConfiguredSidecar, key: string) => (await statusOf(sidecar, key)) === 200;
const reload = ({ file }: ConfiguredSidecar) => runHere(['reload', '--config', file]);

describe('SIGHUP', () => {
  it('reloads the file, refuses mistakes in the log, and leaves the former configuration in service', async () => {
    const sidecar = await start();
    await sidecar.rewrite({ ...configOf(), models: [] });
    sidecar.signal('SIGHUP');
    await until(() => sidecar.output().includes('configuration refused'));
    expect(sidecar.output()).toContain('models (line');
    expect(await statusOf(sidecar, clientKey)).toBe(200);
    await sidecar.rewrite(configOf(others));
    sidecar.signal('SIGHUP');
    await until(() => serves(sidecar, other_key));
    expect(await statusOf(sidecar, clientKey)).toBe(401);
    expect(sidecar.output()).toMatch(/"changed":\["accounts"\].*"msg":"configuration reloaded"/);
    expect(await sidecar.stop()).toBe(0);
  });
});

describe('a file that would block its reader', () => {
  it('is refused, and requests are answered meanwhile', async () => {
    const sidecar = await start();
    rmSync(sidecar.file);
    execFileSync('mkfifo', [sidecar.file]);
    sidecar.signal('SIGHUP');
    await until(() => sidecar.output().includes('is a pipe, which cannot be read again'));
    expect(await statusOf(sidecar, clientKey)).toBe(200);
  });
});

describe('sluice reload', () => {
  it('prints what was accepted and what waits for a restart, or all mistakes with the exit code 1', async () => {
    const sidecar = await start(withSocket);
    expect(statSync(socket).mode & 0o777).toBe(0o600);
    await sidecar.rewrite(configOf({ ...withSocket, ...others, server: { port: 1, unready_ms: 1 } }));
    const accepted = await reload(sidecar);
    expect(accepted).toMatchObject({ code: 0, stderr: '' });
    expect(accepted.stdout).toContain(
      'accepted; changed: accounts, server\nwaits for a restart: server.port\n',
    );
    expect(await statusOf(sidecar, other_key)).toBe(200);

    await sidecar.rewrite({
      ...configOf(withSocket),
      models: [],
      plans: { free: { tokens: 1 } },
    } as GatewayConfig);
    const refused = await reload(sidecar);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(/refused[\s\S]*models \(line[\s\S]*plans\.free\.tokens \(line/);
    expect(await statusOf(sidecar, other_key)).toBe(200);

    const overTcp = await fetch(`${sidecar.adminUrl}/reload`, { method: 'POST' });
    expect(overTcp.status).toBe(405);
    expect(await sidecar.stop()).toBe(0);
    expect(existsSync(socket)).toBe(false);
    await expect(runHere(['reload', '--config', sidecar.file])).resolves.toMatchObject({ code: 1 });
  });

  it('says how else to reload without a socket, and that no process listens at one', async () => {
    const [without, dead] = [join(folder, 'without.yaml'), join(folder, 'dead.yaml')];
    writeFileSync(without, 'models: []\n');
    writeFileSync(dead, 'admin: { socket: dead.sock }\n');
    const reloads = await Promise.all([without, dead].map(file => runHere(['reload', '--config', file])));
    expect(reloads.map(({ code }) => code)).toEqual([1, 1]);
    expect(reloads[0]!.stderr).toContain('SIGHUP');
    expect(reloads[1]!.stderr).toContain(`no gateway answers at ${join(folder, 'dead.sock')}: ENOENT`);
  });
});

describe('admin.socket', () => {
  it('replaces the socket of a process that was killed, and takes none that is in use', async () => {
    const killed = await start(withSocket);
    killed.signal('SIGKILL');
    await killed.exited;
    expect(existsSync(socket)).toBe(true);
    const sidecar = await start(withSocket);
    await expect(start(withSocket)).rejects.toThrow(/another process listens at/);
    expect((await reload(sidecar)).code).toBe(0);
  });

  it('is taken over by the next process with reuse_port, and not removed by the one before it', async () => {
    const server = { reuse_port: true, unready_ms: 0 };
    const first = await start({ ...withSocket, server });
    const next = await start({ ...withSocket, server });
    expect(await first.stop()).toBe(0);
    await next.rewrite(configOf({ ...withSocket, ...others, server }));
    expect((await reload(next)).code).toBe(0);
    expect(await statusOf(next, other_key)).toBe(200);
  });

  it.each([
    ['too long', 'l'.repeat(120), /its path is too long/],
    ['in a folder that is not there', 'none/admin.sock', /there is no folder \S+none$/m],
  ])('says what is wrong with a path that is %s', async (_, name, expected) => {
    await expect(start({ admin: { port: 0, socket: join(folder, name) } })).rejects.toThrow(expected);
  });

  it('does not replace a file of another kind', async () => {
    const path = join(folder, 'precious');
    writeFileSync(path, 'text');
    await expect(start({ admin: { port: 0, socket: path } })).rejects.toThrow(/is not a socket/);
  });
});

describe('reload_on_change', () => {
  it('follows a file that is missing for a moment and becomes a link', async () => {
    const server = { reload_on_change: true, unready_ms: 0 };
    const sidecar = await start({ server });
    // As Kubernetes does: through a link that is replaced, after a moment without the file.
    const target = join(folder, 'linked.yaml');
    renameSync(sidecar.file, target);
    await until(() => sidecar.output().includes('is missing'));
    writeFileSync(target, stringify(configOf({ ...others, server })));
    symlinkSync(target, sidecar.file);
    await until(() => serves(sidecar, other_key));
    expect(await sidecar.stop()).toBe(0);
  });
});
