/** One rung of the ladder as a server: `rung.ts NAME --config FILE`. It has the sidecar's parts, up to its own, and takes no other path. */
import { createServer, type RequestListener } from 'node:http';
import { inspect } from 'node:util';
import { Pool } from 'undici';
import { assemble, type Parts } from '../../../../src/assemble.ts';
import { Chain } from '../../../../src/chain/chain.ts';
import { keepGarbageYoung } from '../../../../src/cli/v8-flags.ts';
import { loadConfig } from '../../../../src/config/load.ts';
import { InFlightSet } from '../../../../src/exchange/in-flight-set.ts';
import type { ReplySource } from '../../../../src/exchange/reply-source.ts';
import { ExchangeRun } from '../../../../src/exchange/runner.ts';
import { GatewayExchange, located } from '../../../../src/gateway-exchange.ts';
import { startExchange } from '../../../../src/inbound/start-exchange.ts';
import { outcomeOf, settle } from '../../../../src/settlement/settle.ts';
import type { Log } from '../../../../src/telemetry/log.ts';
import { listen } from '../../processes.ts';
import { spike } from '../spike.ts';
import { type Arrived, dialect, inbound, outbound } from './frameless.ts';
import { HandMadeSource } from './hand-made.ts';
import { has, type RungName } from './rungs.ts';
import { countNothing } from './without-metrics.ts';

/** Stages of the default chain by the rung that adds them. */
const stageRungs: Readonly<Record<string, RungName>> = {
  'error-envelope': 'auth',
  auth: 'auth',
  validation: 'validation',
  'rate-limit': 'limits',
};

/** Faults are told all the same: they would be measured otherwise. */
const tell = (...line: unknown[]) => void process.stderr.write(`${inspect(line)}\n`);
const silence: Log = {
  isLevelEnabled: () => false,
  child: () => silence,
  debug() {},
  info() {},
  warn() {},
  error: tell,
  fatal: tell,
};

const frameless: Partial<Record<RungName, (arrived: Arrived) => Promise<void>>> = {
  inbound,
  dialect,
  outbound,
};

/** The listener of a rung between the spike and the command. */
async function listenerOf(name: RungName, config: string): Promise<RequestListener> {
  if (!has(name, 'metrics')) countNothing();
  const settings = await loadConfig(config, process.env);
  const parts = await assemble(settings, { terminal: true, ...(!has(name, 'logs') && { log: silence }) });
  const upstream = new Pool(parts.providers[0]!.config.base_url.replace(/\/v1$/, ''), { connections: null });
  const answer = frameless[name] ?? runnerOf(name, parts);
  return (request, response) => {
    const { path, route } = located(request, parts);
    if (!route) return void response.writeHead(404).end();
    const { log, clock } = parts;
    const exchange = startExchange(request, response, {
      endpoint: route,
      path,
      route: path,
      log,
      clock,
      trust_proxy: false,
    });
    answer({ parts, upstream, exchange, route, request, response })?.catch(error => response.destroy(error));
  };
}

/** Runs exchanges with the parts of a rung. */
function runnerOf(name: RungName, parts: Parts): (arrived: Arrived) => undefined {
  const stages = parts.chain.stages.filter(stage => has(name, stageRungs[stage.name] ?? 'rewrite'));
  const chain = new Chain(stages, has(name, 'metrics') ? parts.metrics : undefined);
  const runnerParts = { ...parts, chain, limits: parts.settings.server };
  const exchanges = new InFlightSet();
  return arrived => {
    parts.metrics.begun(arrived.exchange);
    exchanges.start(new ExchangeRun(runnerParts, new RungExchange(name, arrived)));
    return undefined;
  };
}

/** A request to a rung: the gateway's own, but for the parts that the rung does not have. */
class RungExchange extends GatewayExchange {
  readonly #rung: RungName;
  readonly #arrived: Arrived;

  constructor(rung: RungName, arrived: Arrived) {
    const { parts, exchange, route, request, response } = arrived;
    super(parts, exchange, route, undefined, request, response, undefined);
    this.#rung = rung;
    this.#arrived = arrived;
  }

  override source(): ReplySource | undefined {
    const { upstream, exchange } = this.#arrived;
    if (!has(this.#rung, 'routing')) return new HandMadeSource(upstream, exchange);
    const source = super.source();
    return source && !has(this.#rung, 'metering') ? unmetered(source) : source;
  }

  override settle() {
    const { parts, exchange } = this.#arrived;
    if (!has(this.#rung, 'settlement')) return outcomeOf(exchange, '0');
    return has(this.#rung, 'ledger') ? super.settle() : settle(exchange, parts.metrics);
  }
}

/** `source` with streams whose tokens are not counted. */
function unmetered(source: ReplySource): ReplySource {
  const { stream } = source;
  const uncounted = { chunk: () => {}, end: () => {} } as unknown as Parameters<typeof stream>[0];
  source.stream = () => stream.call(source, uncounted);
  return source;
}

const [, , name, , config] = process.argv as unknown as [string, string, RungName, string, string];
keepGarbageYoung();
if (name === 'spike') {
  const { providers } = await loadConfig(config, process.env);
  listen(createServer(spike(new URL(providers[0]!.config.base_url).origin)));
} else listen(createServer(await listenerOf(name, config)));
