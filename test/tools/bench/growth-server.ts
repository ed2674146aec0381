/** `growth-server.ts SIZES`: a sidecar with so many accounts, keys, models and providers, from a configuration that is made here. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { serve } from '../../../src/cli/serve.ts';
import { setV8Flags } from '../../../src/cli/v8-flags.ts';
import { defaultModels } from '../../../src/config/example-models.ts';
import type { GatewayConfig } from '../../../src/config/schema.ts';
import { hashKey } from '../../../src/records/key-secret.ts';
import { growthKey, growthModel } from './conversation.ts';

/** How much of everything there is; one of what is not given. */
export interface GrowthSizes {
  readonly upstream_port: number;
  readonly accounts?: number;
  /** Of each account. */
  readonly keys?: number;
  readonly models?: number;
  /** Of each model an upstream at every provider. */
  readonly providers?: number;
  /** More of the configuration. */
  readonly config?: object;
}

/** What such a server tells when it listens. */
export interface GrowthServer {
  readonly url: string;
  readonly adminUrl: string;
  /** CPU time from the configuration to the listener. */
  readonly start_ms: number;
  /** Of the heap after a full collection, by which it was larger than before the configuration was made. */
  readonly heap_mib: number;
}

const listOf = <T>(count: number, make: (at: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => make(at));

function configOf({ upstream_port, accounts = 1, keys = 1, models = 1, providers = 1, config }: GrowthSizes) {
  const names = listOf(providers, at => `p${at}`);
  const [model] = defaultModels('p0');
  const provider = { adapter: 'vllm', base_url: `http://127.0.0.1:${upstream_port}/v1` };
  return {
    server: { port: 0 },
    admin: { port: 0 },
    log: { level: 'warn' },
    providers: Object.fromEntries(names.map(name => [name, provider])),
    models: listOf(models, at => ({
      ...model,
      // The longest message is longer than any model takes.
      context_length: 1e8,
      id: growthModel(at),
      upstreams: names.map(name => ({ provider: name, model: 'aion-3.5' })),
    })),
    plans: { wide: { requests_per_minute: 1e9, tokens_per_day: 1e12, concurrent_requests: 1e6 } },
    accounts: Object.fromEntries(
      listOf(accounts, at => {
        const digests = listOf(keys, key => ({ sha256: hashKey(growthKey(at * keys + key)) }));
        return [`customer-${at}`, { plan: 'wide', keys: digests }];
      }),
    ),
    ...config,
  } as unknown as GatewayConfig;
}

/** Bytes in use, of garbage nothing: the collector is asked for by a name that V8 has for it. */
function heapInUse(): number {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  return process.memoryUsage().heapUsed;
}

setV8Flags();
const config = configOf(JSON.parse(process.argv[2]!) as GrowthSizes);
const empty = heapInUse();
const before = process.cpuUsage();
const { url, adminUrl } = await serve(config);
const { user, system } = process.cpuUsage(before);
const start_ms = (user + system) / 1000;
const told: GrowthServer = { url, adminUrl, start_ms, heap_mib: (heapInUse() - empty) / 2 ** 20 };
process.stdout.write(`growth ${JSON.stringify(told)}\n`);
