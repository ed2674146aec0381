import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { GatewayConfig } from '../../../src/config/schema.ts';
import { startSimulator } from '../../../src/simulator/server.ts';
import { freePort } from '../../support/free-port.ts';
import { clientKey, type GatewayUnderTest } from '../../support/gateway-under-test.ts';
import { startOtlpReceiver } from '../../support/otlp-receiver.ts';
import { type ConfiguredSidecar, sidecarConfig, startSidecar } from '../../support/sidecar-process.ts';
import type { ProvokedCase, ProvokedService } from './provoked-case.ts';
import { SteadyRequests } from './steady-requests.ts';

const troubled = fileURLToPath(new URL('../../fixtures/stages/troubled.ts', import.meta.url));
/** Time of complete replies before they are refused. */
const calm_ms = 8000;
const stages = ['error-envelope', 'auth', 'validation', troubled];

/** A sidecar that keeps its addresses when it is started again, and requests to it. */
interface Restartable {
  readonly targets: readonly string[];
  readonly requests: SteadyRequests;
  readonly config: GatewayConfig;
  sidecar: ConfiguredSidecar;
  /** SIGKILL, and its end. */
  kill(): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}

async function restartable(
  environment: Record<string, string> = {},
  sections: Partial<GatewayConfig> = {},
): Promise<Restartable> {
  const simulator = await startSimulator({ api_key: null, tokens_per_second: 1000 });
  const [port, adminPort] = [await freePort(), await freePort()];
  const config = sidecarConfig(simulator.url, {
    admin: { port: adminPort },
    stages,
    ...sections,
    server: { port, ...sections.server },
  });
  const run = () => startSidecar(config, environment);
  const post: GatewayUnderTest['post'] = (body, { headers, ...init } = {}) =>
    fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
      method: 'POST',
      body: JSON.stringify(body),
      ...init,
      headers: { authorization: `Bearer ${clientKey}`, 'content-type': 'application/json', ...headers },
    });
  const own: Restartable = {
    targets: [`http://127.0.0.1:${adminPort}`],
    requests: new SteadyRequests(post),
    config,
    sidecar: await run(),
    async kill() {
      own.sidecar.signal('SIGKILL');
      await own.sidecar.exited;
    },
    async start() {
      own.sidecar = await run();
    },
    async close() {
      own.requests.send();
      // Requests of a worker that was killed may wait until the process that accepted their connection ends.
      await own.kill();
      await own.requests.stop();
      await simulator.close();
    },
  };
  own.requests.send({ per_second: 4, prompt: 'Hello' });
  return own;
}

/** A sidecar whose own stage does what the prompts say while the fault lasts. */
async function withPrompts(
  fault: readonly string[],
  last: string,
  environment?: Record<string, string>,
): Promise<ProvokedService> {
  const { targets, requests, close } = await restartable(environment);
  return {
    targets,
    provoke: () => requests.send(...fault.map(prompt => ({ per_second: 2, prompt }))),
    async heal() {
      requests.send({ per_second: 4, prompt: 'Hello' });
      await requests.once({ prompt: last });
    },
    close,
  };
}

/** A sidecar whose configuration is replaced by a valid one with other values while the fault lasts. */
async function reloadedWith(
  change: Partial<GatewayConfig> | ((config: GatewayConfig) => Partial<GatewayConfig>),
): Promise<ProvokedService> {
  const own = await restartable();
  own.requests.send(
    { per_second: 15, prompt: 'Hello' },
    { per_second: 3, prompt: 'Hello', fields: { model: 'aion-labs/aion-3.0' } },
  );
  const reload = async (config: GatewayConfig) => {
    await own.sidecar.rewrite(config);
    own.sidecar.signal('SIGHUP');
  };
  const changed = typeof change === 'function' ? change(own.config) : change;
  return {
    ...own,
    async provoke() {
      // SluiceAllRefused compares with what Prometheus has seen long before.
      await sleep(calm_ms);
      await reload({ ...own.config, ...changed });
    },
    heal: () => reload(own.config),
  };
}

/** Cases of processes that crash, are full, or whose surroundings are down. */
export const casesOfProcesses: readonly ProvokedCase[] = [
  {
    job: 'killed',
    what: 'the only process of its job is killed, and started again',
    alerts: ['SluiceDown', 'SluiceAbsent'],
    async start() {
      const own = await restartable();
      return { ...own, provoke: () => own.kill(), heal: () => own.start() };
    },
  },
  {
    job: 'restarts',
    what: 'a process is killed and started again four times',
    alerts: ['SluiceRestarts'],
    async start() {
      const own = await restartable();
      const provoke = async () => {
        for (let count = 0; count < 4; count++) {
          await own.kill();
          await own.start();
          // Prometheus must have seen each of them.
          await sleep(2500);
        }
      };
      return { ...own, provoke, heal: () => {} };
    },
  },
  {
    job: 'worker-crashes',
    what: 'requests kill the workers that serve them',
    alerts: ['SluiceRestarts'],
    async start() {
      const own = await restartable({}, { server: { workers: 2 } });
      const well = { per_second: 4, prompt: 'Hello' };
      return {
        ...own,
        provoke: () => own.requests.send(well, { per_second: 1, prompt: 'die' }),
        heal: () => own.requests.send(well),
      };
    },
  },
  {
    job: 'keys-lost',
    what: 'a reloaded configuration has lost the keys of all clients',
    alerts: ['SluiceAllRefused'],
    never: ['SluiceErrors'],
    start: () => reloadedWith({ accounts: { tester: { keys: [{ value: 'sk-another-key-0123456789' }] } } }),
  },
  {
    job: 'model-left',
    what: 'a reloaded configuration has lost a model, and clients ask others as well',
    alerts: ['SluiceAllRefused'],
    never: ['SluiceErrors'],
    start: () =>
      reloadedWith(({ models }) => ({
        models: models.filter(({ id }) => id !== 'aion-labs/aion-3.5'),
      })),
  },
  {
    job: 'reload',
    what: 'a reloaded configuration has mistakes, and is corrected',
    alerts: ['SluiceConfigReloadFailed'],
    start: () => reloadedWith({ models: [] }),
  },
  {
    job: 'computing',
    what: 'a stage computes for 400 ms',
    alerts: ['SluiceEventLoopLate', 'SluiceOverhead'],
    start: () => withPrompts(['spin'], 'Hello'),
  },
  {
    job: 'stage-fault',
    what: 'a stage throws a TypeError',
    alerts: ['SluiceStageBroken'],
    start: () => withPrompts(['throw', 'Hello'], 'Hello'),
  },
  {
    job: 'heap',
    what: 'a stage keeps what fills the heap',
    alerts: ['SluiceMemoryHigh'],
    start: () =>
      withPrompts(['hold'], 'release', { NODE_OPTIONS: '--max-old-space-size=160 --max-semi-space-size=2' }),
  },
  {
    job: 'log',
    what: 'standard output is not read',
    alerts: ['SluiceTelemetryDropped'],
    async start() {
      const own = await restartable();
      const provoke = () => {
        own.sidecar.hangReader();
        own.requests.send({ per_second: 2, prompt: 'chatter' });
      };
      const heal = () => own.requests.send({ per_second: 2, prompt: 'Hello' });
      return { ...own, provoke, heal };
    },
  },
  {
    job: 'spans',
    what: 'the collector refuses spans',
    alerts: ['SluiceTelemetryDropped'],
    async start() {
      const receiver = await startOtlpReceiver();
      const own = await restartable({
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
        OTEL_BSP_SCHEDULE_DELAY: '200',
      });
      return {
        ...own,
        provoke: () => void (receiver.status = 400),
        heal: () => void (receiver.status = 200),
        async close() {
          await own.close();
          receiver.close();
        },
      };
    },
  },
];
