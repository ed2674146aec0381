import { Agent } from 'node:http';
import { resolve } from 'node:path';
import { Registry } from 'prom-client';
import type { GatewayConfig } from '../../../src/config/schema.ts';
import { type ChainOptions, createGateway, MemoryStateStore } from '../../../src/index.ts';
import ledger, { type LedgerEntry, ledgerOf, newBook } from '../../fixtures/stages/ledger.ts';
import { type CapturedLog, capturedLog, type LogLine } from '../captured-log.ts';
import { allStages, chainOf, proxyTo } from '../chain-app.ts';
import { type RunningApp, startApp } from '../express-app.ts';
import { FakeClock } from '../fake-clock.ts';
import { clientKey, configOf, type GatewayOverrides, startGateway } from '../gateway-under-test.ts';
import type { ScriptedUpstream } from '../scripted-upstream.ts';
import { ownStages } from '../settlement.ts';

export const mountNames = ['sidecar', 'express', 'chain'] as const;
export type MountName = (typeof mountNames)[number];

/** In what the gateways of a matrix differ from the example configuration. */
export interface MatrixSetting {
  /** Holds for the chain as well, whose options have the same names. */
  readonly server?: GatewayOverrides['server'];
  /** Fields of each provider, in order. */
  readonly providers?: readonly Readonly<Record<string, unknown>>[];
  readonly adapter?: GatewayOverrides['adapter'];
  readonly model?: GatewayOverrides['model'];
  /** Of the chain: what stands at the provider for the others. */
  readonly chain?: ChainOptions;
  readonly config?: Partial<GatewayConfig>;
  /** Stages of the tests' own, by their file: before or behind the built-in ones. */
  readonly first?: readonly OwnStage[];
  readonly last?: readonly OwnStage[];
  /** Each exchange asks for a model of its own, so that no upstream rests for the faults of another. */
  readonly ownModels?: true;
}
type OwnStage = readonly [file: string, options: object];

/** A long-lived gateway and all that can be read of it from outside. */
export interface Mount {
  readonly name: MountName;
  readonly url: string;
  readonly registry: Registry;
  readonly entries: readonly LedgerEntry[];
  readonly lines: readonly LogLine[];
  readonly state: MemoryStateStore;
  close(): Promise<void>;
}

/** Every limit, none within reach: what they have counted is compared with the bills in the end. */
export const plenty = 1_000_000_000_000;
const plan = {
  requests_per_minute: plenty,
  tokens_per_minute: plenty,
  tokens_per_day: plenty,
  concurrent_requests: plenty,
  usd_per_month: 100_000,
};
const limited = {
  plans: { tested: plan },
  accounts: { tester: { plan: 'tested', keys: [{ value: clientKey }] } },
};

interface Parts extends CapturedLog {
  readonly book: string;
  readonly registry: Registry;
  readonly state: MemoryStateStore;
  readonly upstreams: readonly ScriptedUpstream[];
}
type Opened = { readonly url: string; close(): Promise<void> };

const open: Readonly<Record<MountName, (setting: MatrixSetting, parts: Parts) => Promise<Opened>>> = {
  sidecar: (setting, { log, registry, state, ...parts }) =>
    startGateway({ ...overridesOf(setting, parts), options: { log, registry, state } }),

  async express(setting, { log, registry, state, ...parts }) {
    const gateway = await createGateway(configOf(overridesOf(setting, parts)), { log, registry, state });
    return closedWith(await startApp(app => app.use(gateway)), () => gateway.close(0));
  },

  async chain(
    { server, chain, first = [], last = [] },
    { book, log, registry, state, upstreams: [upstream] },
  ) {
    const stages = [ledger({ book }), ...(await loaded(first)), ...allStages(), ...(await loaded(last))];
    const handler = chainOf(stages, {
      ...limited,
      log,
      registry,
      state,
      responses: { from_chat: true },
      messages: { from_chat: true },
      ...(server as ChainOptions),
      ...chain,
    });
    return closedWith(await startApp(app => app.use(handler, proxyTo(upstream!, new Agent()))), () =>
      handler.close(),
    );
  },
};

const pathOf = (file: string) => resolve(import.meta.dirname, '../../fixtures/stages', `${file}.ts`);

const loaded = (stages: readonly OwnStage[]) =>
  Promise.all(
    stages.map(async ([file, options]) => {
      const { default: stage } = (await import(pathOf(file))) as { default: typeof ledger };
      return stage(options as { book: string });
    }),
  );

/** Starts a gateway that is mounted in this way, in front of the upstreams. */
export async function openMount(
  name: MountName,
  setting: MatrixSetting,
  upstreams: readonly ScriptedUpstream[],
): Promise<Mount> {
  const book = newBook();
  const registry = new Registry();
  // Minutes and days do not end while it runs.
  const state = new MemoryStateStore(new FakeClock());
  const captured = capturedLog();
  const { url, close } = await open[name](setting, { book, registry, state, upstreams, ...captured });
  return { name, url, registry, state, lines: captured.lines, entries: ledgerOf(book), close };
}

function overridesOf(
  { server, adapter, model, providers = [], config, first = [], last = [] }: MatrixSetting,
  { book, upstreams: [upstream, ...others] }: Pick<Parts, 'book' | 'upstreams'>,
): GatewayOverrides {
  return {
    upstream: upstream!,
    ...(others.length > 0 && { others }),
    ...(server && { server }),
    ...(adapter && { adapter }),
    ...(model && { model }),
    providers,
    stages: [
      ...ownStages(['ledger', { book }], ...first),
      ...last.map(([file, options]) => ({ [pathOf(file)]: options })),
    ],
    config: { messages: { enabled: true }, ...limited, ...config },
  };
}

const closedWith = ({ url, close }: RunningApp, end: () => Promise<void>): Opened => ({
  url,
  close: async () => {
    await end();
    await close();
  },
});
