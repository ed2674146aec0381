import { type SimulatorOptions, startSimulator } from '../../../src/simulator/server.ts';
import { clientKey, type GatewayOverrides, startGateway } from '../../support/gateway-under-test.ts';
import type { ProvokedCase, ProvokedService } from './provoked-case.ts';
import { type Steady, SteadyRequests } from './steady-requests.ts';

/** A case in which requests alone decide what fails: `calm` before and after, `fault` while it lasts. */
interface RequestCase extends Omit<ProvokedCase, 'start'> {
  readonly calm: readonly Steady[];
  readonly fault: readonly Steady[];
  /** Sent at once when the fault begins. */
  readonly burst?: readonly string[];
  /** Sent once when it ends. */
  readonly last?: string;
  readonly gateway?: Partial<GatewayOverrides>;
}

const well = (per_second: number): Steady => ({ per_second, prompt: 'Hello' });
const failing = (per_second: number): Steady => ({ per_second, prompt: 'Fail [[sim:status=503]]' });
const unknownKey = (per_second: number): Steady => ({
  ...well(per_second),
  headers: { authorization: 'Bearer sk-nobody-0123456789' },
});
const stream = { stream: true, max_tokens: 20 };
const other = { model: 'aion-labs/aion-3.0' };
/** What a ticket must not repeat while SluiceErrors fires, or afterwards. */
const told = ['SluiceErrorsSlow', 'SluiceProviderFailing', 'SluiceClientsWait', 'SluiceAllRefused'];

const requestCases: readonly RequestCase[] = [
  {
    job: 'half',
    what: 'a third of all requests fails, under a flood of unknown keys',
    alerts: ['SluiceErrors'],
    never: told,
    calm: [well(10)],
    fault: [well(10), failing(5), unknownKey(20)],
  },
  {
    job: 'streams',
    what: 'nearly every stream breaks after its 200',
    alerts: ['SluiceErrors'],
    never: told,
    calm: [{ per_second: 8, prompt: 'Hello', fields: stream }],
    fault: [
      { per_second: 12, prompt: 'Break [[sim:reset=3]]', fields: stream },
      { per_second: 0.5, prompt: 'Hello', fields: stream },
    ],
  },
  {
    job: 'one-model',
    what: 'one model fails, with one request in twenty-five',
    alerts: ['SluiceErrors'],
    calm: [well(50), { ...well(2), fields: other }],
    fault: [well(50), { ...failing(2), fields: other }],
  },
  {
    job: 'few',
    what: 'one request in twenty-five fails',
    alerts: ['SluiceErrorsSlow'],
    never: ['SluiceErrors', 'SluiceProviderFailing'],
    calm: [well(48)],
    fault: [well(48), failing(2)],
  },
  {
    job: 'refused',
    what: 'the only provider fails, and requests are refused because its circuit breaker is open',
    alerts: ['SluiceErrors'],
    never: told,
    calm: [well(8)],
    fault: [failing(12)],
    gateway: {
      provider: { breaker: { open_ms: 400, max_open_ms: 800, probes: 1 } },
      config: { routing: { when_all_unavailable: 'refuse' } },
    },
  },
  {
    job: 'hanging',
    what: 'the provider never answers, and clients give up',
    alerts: ['SluiceErrors'],
    never: told,
    calm: [well(4)],
    fault: [{ per_second: 8, prompt: 'Hang [[sim:ttft=3000]]', patience_ms: 200 }],
  },
  {
    job: 'cancelled-streams',
    what: 'every client cancels its stream after the first words',
    alerts: [],
    never: ['SluiceErrors', ...told],
    calm: [well(4)],
    fault: [
      { per_second: 8, prompt: 'Talk', fields: { stream: true, max_tokens: 5000 }, leaves_early: true },
    ],
  },
  {
    job: 'first-failures',
    what: 'the first twelve requests of a process fail, and none follows',
    alerts: ['SluiceErrors'],
    never: told,
    calm: [],
    fault: [],
    burst: Array.from({ length: 12 }, () => failing(1).prompt),
    last: 'Hello',
  },
  {
    job: 'first-failure',
    what: 'the first request of a process fails, and none follows',
    alerts: ['SluiceErrorsSlow'],
    never: ['SluiceErrors'],
    calm: [],
    fault: [],
    burst: [failing(1).prompt],
    last: 'Hello',
  },
  {
    job: 'flood',
    what: 'a flood of unknown keys beside requests that go well',
    alerts: [],
    never: ['SluiceErrors', ...told],
    calm: [well(2)],
    fault: [well(2), unknownKey(20)],
  },
  {
    job: 'overload',
    what: 'the only provider takes one request at a time',
    alerts: ['SluiceOverloaded'],
    calm: [well(1)],
    fault: [{ per_second: 10, prompt: 'Take long [[sim:ttft=500]]' }],
    gateway: { provider: { max_concurrent: 1, max_queue: 0 } },
  },
  {
    job: 'full-limit',
    what: 'an account has all its places for requests in use',
    alerts: ['SluiceLimitNearlyUsed'],
    never: ['SluiceErrors'],
    calm: [well(2)],
    fault: [{ per_second: 4, prompt: 'Hello [[sim:ttft=3000]]' }],
    gateway: {
      config: {
        plans: { small: { concurrent_requests: 4 } },
        accounts: { tester: { plan: 'small', keys: [{ value: clientKey }] } },
      },
    },
  },
  {
    job: 'wrong-key',
    what: 'the provider answers 401 to one request in fifty',
    alerts: ['SluiceProviderFailing'],
    never: ['SluiceErrors'],
    calm: [well(50)],
    fault: [well(50), { per_second: 1, prompt: 'Hello [[sim:status=401]]' }],
  },
  {
    job: 'slow-first-token',
    what: 'first tokens take longer than the limit, shortened to 10 s',
    alerts: ['SluiceClientsWait'],
    calm: [{ per_second: 4, prompt: 'Hello', fields: stream }],
    fault: [{ per_second: 4, prompt: 'Hello [[sim:ttft=15000]]', fields: stream }],
  },
  {
    job: 'no-usage',
    what: 'the provider reports no usage',
    alerts: ['SluiceUsageEstimated'],
    calm: [{ per_second: 4, prompt: 'Hello', fields: stream }],
    fault: [{ per_second: 4, prompt: 'Hello [[sim:usage=none]]', fields: stream }],
  },
];

/** Cases of one gateway and one provider in this process, by what their clients ask. */
export const casesOfRequests: readonly ProvokedCase[] = requestCases.map(one => ({
  ...one,
  start: () => start(one),
}));

async function start({
  calm,
  fault,
  burst,
  last,
  gateway: overrides,
}: RequestCase): Promise<ProvokedService> {
  const options: Partial<SimulatorOptions> = { api_key: null, tokens_per_second: 1000 };
  const simulator = await startSimulator(options);
  const gateway = await startGateway({
    upstream: simulator,
    ...overrides,
  });
  const requests = new SteadyRequests(gateway.post);
  requests.send(...calm);
  return {
    targets: [gateway.adminUrl],
    provoke() {
      requests.send(...fault);
      for (const prompt of burst ?? []) void requests.once({ prompt });
    },
    heal() {
      requests.send(...calm);
      if (last !== undefined) void requests.once({ prompt: last });
    },
    async close() {
      await requests.stop();
      await gateway.close();
      await simulator.close();
    },
  };
}
