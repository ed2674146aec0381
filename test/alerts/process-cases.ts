import { fileURLToPath } from 'node:url';
import type { GatewayConfig } from '../../src/config/schema.ts';
import { startSimulator } from '../../src/simulator/server.ts';
import { freePort } from '../support/free-port.ts';
import { clientKey, type GatewayUnderTest } from '../support/gateway-under-test.ts';
import { startOtlpReceiver } from '../support/otlp-receiver.ts';
import { type ConfiguredSidecar, sidecarConfig, startSidecar } from '../support/sidecar-process.ts';
import type { ProvokedCase, ProvokedService } from './provoked-case.ts';
import { SteadyRequests } from './steady-requests.ts';

const troubled = fileURLToPath(new URL('../fixtures/stages/troubled.ts', import.meta.url));
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

async function restartable(environment: Record<string, string> = {}): Promise<Restartable> {
  const simulator = await startSimulator({ api_key: null, tokens_per_second: 1000 });
  const [port, adminPort] = [await freePort(), await freePort()];
  const config = sidecarConfig(simulator.url, { server: { port }, admin: { port: adminPort }, stages });
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
      await own.requests.stop();
      await own.kill();
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
    what: 'a process is killed and started again three times',
    alerts: ['SluiceRestarts'],
    async start() {
      const own = await restartable();
      const provoke = async () => {
        for (let count = 0; count < 3; count++) {
          await own.kill();
          await own.start();
          // Prometheus must have seen each of them.
          await new Promise(resolve => setTimeout(resolve, 2500));
        }
      };
      return { ...own, provoke, heal: () => {} };
    },
  },
  {
    job: 'reload',
    what: 'a reloaded configuration has mistakes, and is corrected',
    alerts: ['SluiceConfigReloadFailed'],
    async start() {
      const own = await restartable();
      const reload = async (config: GatewayConfig) => {
        await own.sidecar.rewrite(config);
        own.sidecar.signal('SIGHUP');
      };
      return {
        ...own,
        provoke: () => reload({ ...own.config, models: [] }),
        heal: () => reload(own.config),
      };
    },
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
    alerts: ['SluiceHeapHigh'],
    start: () =>
      withPrompts(['hold'], 'release', { NODE_OPTIONS: '--max-old-space-size=160 --max-semi-space-size=2' }),
  },
  {
    job: 'log',
    what: 'standard output is not read',
    alerts: ['SluiceLogLinesDropped'],
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
    alerts: ['SluiceSpansDropped'],
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
