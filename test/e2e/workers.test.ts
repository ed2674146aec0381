import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import type { GatewayConfig } from '../../src/config/schema.ts';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { post } from '../support/chain-app.ts';
import { ask, clientKey, eventsOf } from '../support/gateway-under-test.ts';
import { selfSigned } from '../support/self-signed-certificate.ts';
import { configFile, runSidecar, startSidecar } from '../support/sidecar-process.ts';
import { until } from '../support/until.ts';
import {
  CatalogLoad,
  isAlive,
  stageFile,
  WorkersSidecar,
  workersConfig,
} from '../support/workers-sidecar.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-workers-'));
const other_key = 'sk-another-key-0123456789';
const others = { accounts: { other: { keys: [{ value: other_key }] } } };
const stages = (name: string) => ({ stages: ['error-envelope', 'auth', 'validation', stageFile(name)] });
/** Several processes load all modules at once, beside other tests. */
const start_ms = 240_000;

let simulator: Simulator;
const sidecars: WorkersSidecar[] = [];

beforeAll(async () => {
  simulator = await startSimulator();
});
afterAll(async () => {
  for (const { process } of sidecars) process.signal('SIGKILL');
  await Promise.all(sidecars.map(({ process }) => process.exited));
  await until(() => !sidecars.flatMap(sidecar => sidecar.pids()).some(isAlive));
  await simulator.close();
  rmSync(folder, { recursive: true });
});

const configOf = (sections: object = {}) => workersConfig(simulator.url, sections as Partial<GatewayConfig>);

async function start(
  sections: object = {},
  environment: Readonly<Record<string, string>> = {},
): Promise<WorkersSidecar> {
  const sidecar = await WorkersSidecar.start(configOf(sections), environment);
  sidecars.push(sidecar);
  await sidecar.whenReady(2);
  return sidecar;
}

const stream = ({ process: { url } }: WorkersSidecar, content: string) =>
  post(`${url}/v1/chat/completions`, ask(content, { stream: true }));

describe('two workers', () => {
  let sidecar: WorkersSidecar;

  it(
    'serve one port together, and another one in the place of one that is killed',
    async () => {
      sidecar = await start({}, { OTEL_METRICS_EXPORTER: 'otlp', OTEL_LOGS_EXPORTER: 'otlp' });
      // Once, however many processes there are.
      expect(sidecar.log().filter(({ why }) => /^OTEL_\w+ is 'otlp', but/.test(String(why)))).toHaveLength(2);
      const served = () =>
        sidecar.log().flatMap(({ msg, worker }) => (msg === 'POST /v1/chat/completions 200' ? worker : []));
      await until(async () => {
        expect(await sidecar.ask()).toBe(200);
        return new Set(served()).size === 2;
      });
      expect(await sidecar.metric('sluice_requests_total')).toBe(served().length);

      const load = new CatalogLoad(sidecar.process.url, new Agent({ keepAlive: true }), 4);
      await load.more(20);
      const killed = sidecar.workers().get(1)!;
      process.kill(killed, 'SIGKILL');
      await until(() => sidecar.workers().get(1) !== killed, 10_000);
      await load.more(20);
      await load.end();
      // At most what that process had of four clients, and one connection that was on its way to it.
      expect(load.failures.length).toBeLessThanOrEqual(4);
      await sidecar.whenReady(2);
      expect(await sidecar.metric('sluice_worker_restarts_total')).toBe(1);
      expect(sidecar.log()).toContainEqual(
        expect.objectContaining({
          msg: 'worker ended, another one is started',
          worker: 1,
          signal: 'SIGKILL',
        }),
      );
    },
    start_ms,
  );

  it(
    'serve another configuration both, or none of them when one refuses it, and are as many as it says',
    async () => {
      const rewritten = async (sections: object, done: string) => {
        const before = sidecar.log().length;
        await sidecar.process.rewrite(configOf(sections));
        sidecar.process.signal('SIGHUP');
        await until(() =>
          sidecar
            .log()
            .slice(before)
            .some(({ msg }) => String(msg).includes(done)),
        );
      };
      await rewritten(others, 'configuration reloaded');
      expect(await sidecar.asks(other_key)).toEqual(Array(8).fill(200));
      expect(await sidecar.asks()).toEqual(Array(8).fill(401));

      for (const [stage, why] of [
        ['refused-by-second-worker', 'worker 2 refused it'],
        ['refused-by-primary', 'the primary process has no such stage'],
      ] as const) {
        await rewritten(stages(stage), 'configuration refused');
        expect(sidecar.process.output()).toContain(why);
        expect(await sidecar.asks(other_key)).toEqual(Array(8).fill(200));
        expect(await sidecar.asks()).toEqual(Array(8).fill(401));
      }

      await rewritten({ server: { workers: 1 } }, 'configuration reloaded');
      await sidecar.whenReady(1);
      expect(await sidecar.asks()).toEqual(Array(8).fill(200));
    },
    start_ms,
  );

  it('let running requests finish when all processes get SIGTERM, and leave none behind', async () => {
    const running = await stream(sidecar, 'Hello [[sim:tokens=15 reasoning_tokens=0 tps=10]]');
    // As systemd and terminals do, to those that still run.
    for (const pid of sidecar.pids().filter(isAlive)) process.kill(pid, 'SIGTERM');
    expect((await running.text()).trimEnd()).toMatch(/data: \[DONE\]$/);
    expect(await sidecar.process.exited).toBe(0);
    expect(sidecar.pids().filter(isAlive)).toEqual([]);
  });

  it(
    'are replaced one after the other for other TLS, lose no request, and end with a primary that is killed',
    async () => {
      const { cert, key } = selfSigned(new Date(Date.now() + 30 * 86_400_000));
      const [cert_file, key_file] = [join(folder, 'tls.crt'), join(folder, 'tls.key')] as const;
      writeFileSync(cert_file, cert);
      writeFileSync(key_file, key, { mode: 0o600 });
      const server = { tls: { cert_file, key_file } };
      const sidecar = await start({ server });
      const [first, second] = [...sidecar.workers().values()];
      const agent = new HttpsAgent({ keepAlive: true, rejectUnauthorized: false });
      const load = new CatalogLoad(sidecar.process.url, agent, 4);
      await load.more(20);
      await sidecar.process.rewrite(configOf({ server: { tls: { ...server.tls, min_version: 'TLSv1.3' } } }));
      sidecar.process.signal('SIGHUP');
      await until(() => sidecar.log().some(({ msg }) => msg === 'workers are replaced'), 20_000);
      await load.more(20);
      await load.end();
      expect(load.failures).toEqual([]);
      expect([first!, second!].filter(isAlive)).toEqual([]);
      expect(await sidecar.metric('sluice_worker_restarts_total')).toBe(0);

      const body = JSON.stringify(ask('Hello [[sim:tokens=endless tps=20]]', { stream: true }));
      const running = request(`${sidecar.process.url}/v1/chat/completions`, {
        method: 'POST',
        agent,
        headers: { authorization: `Bearer ${clientKey}`, 'content-type': 'application/json' },
      }).end(body);
      const [reply] = (await once(running, 'response')) as [IncomingMessage];
      const read = text(reply);
      await until(() => simulator.stats.open === 1);
      sidecar.process.signal('SIGKILL');
      expect(eventsOf(await read).at(-2)?.json).toMatchObject({ error: { type: 'server_error' } });
      await until(() => !sidecar.pids().some(isAlive));
    },
    start_ms,
  );
});

/** A system whose sockets cannot share a port, as macOS and Windows are: listening says so. */
const without_shared_ports = `import { Server } from 'node:net';
const { listen } = Server.prototype;
Server.prototype.listen = function (options, ...rest) {
  if (!options?.reusePort) return listen.call(this, options, ...rest);
  process.nextTick(() => this.emit('error', Object.assign(new Error('not supported'), { code: 'ENOTSUP' })));
  return this;
};`;

it(
  'serve in one process, and say so, where processes cannot share a port',
  async () => {
    const preload = `--import=data:text/javascript,${encodeURIComponent(without_shared_ports)}`;
    const sidecar = await startSidecar(configOf(), { NODE_OPTIONS: preload });
    const reply = await post(`${sidecar.url}/v1/chat/completions`, ask('Hello'));
    expect([reply.status, await sidecar.stop()]).toEqual([200, 0]);
    expect(sidecar.output()).toContain(
      'processes cannot share a port on this system: server.workers has no effect',
    );
  },
  start_ms,
);

describe('workers that cannot start', () => {
  it(
    'end the command with the reason',
    async () => {
      const taken = createServer().listen(0, '127.0.0.1');
      await once(taken, 'listening');
      const { port } = taken.address() as AddressInfo;
      const { file, remove } = await configFile(stringify(configOf({ server: { port } })));
      const busy = await runSidecar(['--config', file]);
      taken.close();
      await remove();
      expect(busy).toMatchObject({ code: 1, stderr: expect.stringContaining(`127.0.0.1:${port} is in use`) });
    },
    start_ms,
  );
});
