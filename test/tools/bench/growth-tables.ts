import { type Conversation, conversationOf, GrowingSidecar, requestOfMany } from './growth-load.ts';
import { growthModel } from './growth-names.ts';
import { firstRequests } from './growth-process.ts';
import type { GrowthSizes } from './growth-server.ts';
import type { Column, GrowthTable } from './growth-table.ts';

const powers = (most: number): number[] =>
  Array.from({ length: Math.round(Math.log10(most)) + 1 }, (_, power) => 10 ** power);

const perRequest: Column = { head: 'CPU µs per request', digits: 1, growth: 'constant' };
const start: Column = { head: 'start, CPU ms', digits: 0, growth: 'linear' };
const heap: Column = { head: 'heap MiB', digits: 1, growth: 'linear' };
const scrape: Column = { head: '`/metrics`, CPU ms', digits: 2, growth: 'linear' };

async function withSidecar<T>(sizes: GrowthSizes, use: (sidecar: GrowingSidecar) => Promise<T>): Promise<T> {
  const sidecar = await GrowingSidecar.start(sizes);
  try {
    return await use(sidecar);
  } finally {
    await sidecar.stop();
  }
}

/** A table of requests that grow, in each format. */
const requests = (
  upstream_port: number,
  title: string,
  unit: string,
  sizes: readonly number[],
  conversation: (size: number) => Conversation,
): GrowthTable => ({
  title,
  unit,
  sizes,
  columns: ['chat completions', 'responses', 'messages'].map(format => ({
    head: `${format}, CPU µs`,
    digits: 0,
    growth: 'linear',
  })),
  measure: size =>
    withSidecar({ upstream_port, config: { messages: { enabled: true } } }, async sidecar => {
      const figures: number[] = [];
      for (const request of conversationOf(conversation(size)))
        figures.push(await sidecar.cpu_us(() => request));
      return figures;
    }),
});

/** A table of a configuration that grows, with requests that use any part of it. */
const configuration = (
  upstream_port: number,
  title: string,
  unit: string,
  sizes: readonly number[],
  more: (size: number) => Omit<GrowthSizes, 'upstream_port'>,
): GrowthTable => ({
  title,
  unit,
  sizes,
  columns: [perRequest, start, heap, scrape],
  measure: size =>
    withSidecar({ upstream_port, ...more(size) }, async sidecar => {
      const { accounts = 1, keys = 1, models = 1 } = more(size);
      const { start_ms, heap_mib, adminUrl } = sidecar.told;
      const cpu_us = await sidecar.cpu_us(requestOfMany(accounts * keys, models));
      const scrape_us = await sidecar.cpu_us(() => ({ method: 'GET', path: '/metrics' }), 200, adminUrl);
      return [cpu_us, start_ms, heap_mib, scrape_us / 1000];
    }),
});

const lists = (upstream_port: number): GrowthTable => ({
  title: '`GET /v1/models`',
  unit: 'models',
  sizes: [5, 50, 500, 5000],
  columns: [
    { head: 'the list, CPU µs', digits: 0, growth: 'linear' },
    { head: 'one model, CPU µs', digits: 0, growth: 'constant' },
  ],
  measure: models =>
    withSidecar({ upstream_port, models }, async sidecar => [
      await sidecar.cpu_us(() => ({ method: 'GET', path: '/v1/models' })),
      await sidecar.cpu_us(() => ({ method: 'GET', path: `/v1/models/${growthModel(models - 1)}` })),
    ]),
});

/** Every table by its name for `--tables`. */
export const growthTables = (upstream_port: number): Readonly<Record<string, GrowthTable>> => {
  const ofRequests = requests.bind(undefined, upstream_port);
  const ofConfiguration = configuration.bind(undefined, upstream_port);
  return {
    body: ofRequests('A long message', 'characters', [1e3, 1e4, 1e5, 1e6, 16e6], characters => ({
      characters,
    })),
    messages: ofRequests('Many messages of 100 characters', 'messages', powers(1e4), messages => ({
      messages,
    })),
    tools: ofRequests('Many tools', 'tools', powers(1e3), tools => ({ tools })),
    accounts: ofConfiguration('Accounts, each with a key', 'accounts', powers(1e6), accounts => ({
      accounts,
    })),
    keys: ofConfiguration('Keys of one account', 'keys', powers(1e6), keys => ({ keys })),
    models: ofConfiguration('Models', 'models', [5, 50, 500, 5000], models => ({ models })),
    lists: lists(upstream_port),
    cold: firstRequests(upstream_port),
    providers: ofConfiguration(
      'Providers, all of them upstreams of one model',
      'providers',
      [1, 5, 50, 500],
      providers => ({ providers }),
    ),
    sticky: ofConfiguration('The same with `routing.sticky`', 'providers', [1, 5, 50, 500], providers => ({
      providers,
      config: { routing: { sticky: 'conversation' } },
    })),
  };
};
