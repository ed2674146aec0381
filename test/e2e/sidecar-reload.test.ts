import { execFileSync } from 'node:child_process';
import {
  existsSync,
  linkSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import type { GatewayConfig } from '../../src/config/schema.ts';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { post } from '../support/chain-app.ts';
import { runHere } from '../support/command-here.ts';
import { ask, clientKey } from '../support/gateway-under-test.ts';
import { send } from '../support/raw-client.ts';
import { endServed, serveHere } from '../support/sidecar-here.ts';
import { sidecarConfig, startSidecar } from '../support/sidecar-process.ts';
import { until } from '../support/until.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-reload-'));
const socket = join(folder, 'admin.sock');
const other_key = 'sk-another-key-0123456789';
const others = { accounts: { other: { keys: [{ value: other_key }] } } };
let simulator: Simulator;

beforeAll(async () => {
  simulator = await startSimulator();
});
afterEach(endServed);
afterAll(async () => {
  await simulator.close();
  rmSync(folder, { recursive: true });
});

const configOf = (sections: object = {}) =>
  sidecarConfig(simulator.url, {
    log: { level: 'info', format: 'json' },
    ...sections,
  } as Partial<GatewayConfig>);
const withSocket = { admin: { port: 0, socket } };
const start = (sections: object = {}) => serveHere(configOf(sections));

const statusOf = async ({ url }: { url: string }, key: string): Promise<number> => {
  const reply = await post(`${url}/v1/chat/completions`, ask('Hello [[sim:tokens=1]]'), {
    authorization: `Bearer ${key}`,
  });
  await reply.text();
  return reply.status;
};

const reload = ({ file }: { file: string }) => runHere(['reload', '--config', file]);

describe('a signal', () => {
  it('SIGHUP reloads the file, and refuses mistakes and what would block its reader; SIGINT ends the process without the unready period', async () => {
    const server = { unready_ms: 600_000, drain_ms: 600_000 };
    const sidecar = await startSidecar(configOf({ server }));
    await sidecar.rewrite({ ...configOf({ server }), models: [] });
    sidecar.signal('SIGHUP');
    await until(() => sidecar.output().includes('configuration refused'), 5000);
    expect(sidecar.output()).toContain('models (line');
    expect(await statusOf(sidecar, clientKey)).toBe(200);
    await sidecar.rewrite(configOf({ ...others, server }));
    sidecar.signal('SIGHUP');
    await until(async () => (await statusOf(sidecar, other_key)) === 200, 5000);
    expect(await statusOf(sidecar, clientKey)).toBe(401);
    expect(sidecar.output()).toMatch(/"changed":\["accounts"\].*"msg":"configuration reloaded"/);
    rmSync(sidecar.file);
    execFileSync('mkfifo', [sidecar.file]);
    sidecar.signal('SIGHUP');
    await until(() => sidecar.output().includes('is a pipe, which cannot be read again'), 5000);
    expect(await statusOf(sidecar, other_key)).toBe(200);
    // Nothing runs in it, and on SIGINT load balancers are not waited for.
    sidecar.signal('SIGINT');
    expect(await sidecar.exited).toBe(0);
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

    const mistaken = { ...configOf(withSocket), models: [], plans: { free: { tokens: 1 } } };
    await sidecar.rewrite(mistaken as GatewayConfig);
    const refused = await reload(sidecar);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(/refused[\s\S]*models \(line[\s\S]*plans\.free\.tokens \(line/);
    expect(await statusOf(sidecar, other_key)).toBe(200);

    const overTcp = await fetch(`${sidecar.adminUrl}/reload`, { method: 'POST' });
    expect(overTcp.status).toBe(405);
    await sidecar.stop();
    expect(existsSync(socket)).toBe(false);
    expect((await reload(sidecar)).code).toBe(1);
  });

  it('changes the host names that the admin listener answers for', async () => {
    const named = (host: string) => configOf({ admin: { ...withSocket.admin, hosts: [host] } });
    const sidecar = await serveHere(named('old.internal'));
    const statusFor = async (host: string) =>
      (await send(`${sidecar.adminUrl}/metrics`, { headers: { host } })).status;
    const statuses = async () => [await statusFor('old.internal'), await statusFor('new.internal')];
    expect(await statuses()).toEqual([200, 421]);
    await sidecar.rewrite(named('new.internal'));
    expect((await reload(sidecar)).stdout).toContain('accepted; changed: admin\n');
    expect(await statuses()).toEqual([421, 200]);
  });

  it('says how else to reload without a socket, and that no process listens at one', async () => {
    const [without, dead] = [join(folder, 'without.yaml'), join(folder, 'dead.yaml')];
    writeFileSync(without, 'models: []\n');
    writeFileSync(dead, 'admin: { socket: dead.sock }\n');
    const reloads = await Promise.all([without, dead].map(file => reload({ file })));
    expect(reloads.map(({ code }) => code)).toEqual([1, 1]);
    expect(reloads[0]!.stderr).toContain('SIGHUP');
    expect(reloads[1]!.stderr).toContain(`no gateway answers at ${join(folder, 'dead.sock')}: ENOENT`);
  });
});

describe('admin.socket', () => {
  it('replaces the socket of a process that was killed, and takes none that is in use', async () => {
    // A second name of a socket stays, as all do that a killed process has had.
    const dead = createServer();
    await new Promise<void>(resolve => dead.listen(`${socket}.dead`, resolve));
    linkSync(`${socket}.dead`, socket);
    dead.close();
    const sidecar = await start(withSocket);
    await expect(start(withSocket)).rejects.toThrow(/another process listens at/);
    expect((await reload(sidecar)).code).toBe(0);
  });

  it('is taken over by the next process with reuse_port, and not removed by the one before it', async () => {
    const server = { reuse_port: true, unready_ms: 0 };
    const first = await start({ ...withSocket, server });
    const next = await start({ ...withSocket, server });
    await first.stop();
    await next.rewrite(configOf({ ...withSocket, ...others, server }));
    expect((await reload(next)).code).toBe(0);
    expect(await statusOf(next, other_key)).toBe(200);
  });

  it('cannot be too long, in a folder that is not there or in the place of a file, and the start says which', async () => {
    writeFileSync(join(folder, 'precious'), 'text');
    for (const [name, expected] of [
      ['l'.repeat(120), /its path is too long/],
      ['none/admin.sock', /there is no folder \S+none$/m],
      ['precious', /is not a socket/],
    ] as const)
      await expect(start({ admin: { port: 0, socket: join(folder, name) } })).rejects.toThrow(expected);
  });
});

describe('reload_on_change', () => {
  it('follows a file that is missing for a moment and becomes a link', async () => {
    const server = { reload_on_change: true, unready_ms: 0 };
    const sidecar = await start({ server });
    // As Kubernetes does: through a link that is replaced, after a moment without the file.
    const target = join(folder, 'linked.yaml');
    renameSync(sidecar.file, target);
    await until(() => sidecar.output().includes('is missing'), 5000);
    writeFileSync(target, stringify(configOf({ ...others, server })));
    symlinkSync(target, sidecar.file);
    await until(async () => (await statusOf(sidecar, other_key)) === 200, 5000);
  });
});
