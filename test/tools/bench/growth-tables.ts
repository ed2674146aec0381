import type { Dispatcher } from 'undici';
import { growthKey, growthModel, requestHeaders } from './conversation.ts';
import { withSidecar } from './growing-sidecar.ts';
import type { GrowthSizes } from './growth-server.ts';
import type { GrowthTable } from './growth-table.ts';
import { memoryOfWebSockets } from './idle-web-sockets.ts';

/** A table, its sizes, and how the figures of one size are measured. */
interface MeasuredTable extends GrowthTable {
  readonly sizes: readonly number[];
  measure(size: number, upstream_port: number): Promise<readonly number[]>;
}

const powers = (most: number): number[] =>
  Array.from({ length: Math.round(Math.log10(most)) + 1 }, (_, power) => 10 ** power);
const fives = [1, 5, 50, 500];

const text = 'A river bends because water on the outside of a slight curve runs faster. ';

const chatRequest = (body: object, key = 0, path = '/v1/chat/completions'): Dispatcher.DispatchOptions => ({
  path,
  method: 'POST',
  headers: { ...requestHeaders, authorization: `Bearer ${growthKey(key)}` },
  body: JSON.stringify(body),
});
const get = (path: string) => (): Dispatcher.DispatchOptions => ({ method: 'GET', path });

/** A request with any key and model of so many. */
function requestOfMany(keys: number, models: number): () => Dispatcher.DispatchOptions {
  const any = (count: number) => Math.floor(Math.random() * count);
  return () =>
    chatRequest({ model: growthModel(any(models)), messages: [{ role: 'user', content: text }] }, any(keys));
}

/** A conversation as a request of each format: text of so many characters in each of so many messages, and so many tools. */
function conversationOf({ characters = 100, messages = 1, tools = 0 }) {
  const content = text.repeat(Math.ceil(characters / text.length)).slice(0, characters);
  const turns = Array.from({ length: messages }, (_, at) => ({
    role: (messages - at) % 2 === 1 ? 'user' : 'assistant',
    content,
  }));
  const parameters = {
    type: 'object',
    properties: { place: { type: 'string', description: text }, days: { type: 'integer', minimum: 1 } },
    required: ['place'],
  };
  const functions = Array.from({ length: tools }, (_, at) => ({ name: `forecast_${at}`, description: text }));
  const listed = <T>(form: (one: (typeof functions)[0]) => T) =>
    tools === 0 ? {} : { tools: functions.map(form) };
  const asked = {
    '/v1/chat/completions': {
      messages: turns,
      ...listed(one => ({ type: 'function', function: { ...one, parameters } })),
    },
    '/v1/responses': { input: turns, ...listed(one => ({ type: 'function', ...one, parameters })) },
    '/v1/messages': {
      messages: turns,
      max_tokens: 100,
      ...listed(one => ({ ...one, input_schema: parameters })),
    },
  };
  return Object.entries(asked).map(([path, body]) =>
    chatRequest({ model: growthModel(0), ...body }, 0, path),
  );
}

/** Requests in which one of these grows, in each format. */
const requests = (
  title: string,
  grows: 'characters' | 'messages' | 'tools',
  sizes: readonly number[],
): MeasuredTable => ({
  title,
  unit: grows,
  sizes,
  columns: ['chat completions', 'responses', 'messages'].map(format => ({
    head: `${format}, CPU µs`,
    digits: 0,
    growth: 'linear',
  })),
  measure: (size, upstream_port) =>
    withSidecar({ upstream_port, config: { messages: { enabled: true } } }, async sidecar => {
      const figures: number[] = [];
      for (const request of conversationOf({ [grows]: size }))
        figures.push(await sidecar.cpu_us(() => request));
      return figures;
    }),
});

/** A configuration in which one of these grows, with requests that use any part of it. */
const configuration = (
  title: string,
  grows: 'accounts' | 'keys' | 'models' | 'providers',
  sizes: readonly number[],
  more: Pick<GrowthSizes, 'config'> = {},
): MeasuredTable => ({
  title,
  unit: grows,
  sizes,
  columns: [
    { head: 'CPU µs per request', digits: 1, growth: 'constant' },
    { head: 'start, CPU ms', digits: 0, growth: 'linear' },
    { head: 'heap MiB', digits: 1, growth: 'linear' },
    { head: '`/metrics`, CPU ms', digits: 2, growth: 'linear' },
    { head: '`GET /v1/models`, CPU µs', digits: 0, growth: grows === 'models' ? 'linear' : 'constant' },
    { head: 'of one model, CPU µs', digits: 0, growth: 'constant' },
  ],
  measure: (size, upstream_port) =>
    withSidecar({ upstream_port, [grows]: size, ...more }, async sidecar => {
      const [keys, models] = [/accounts|keys/.test(grows) ? size : 1, grows === 'models' ? size : 1];
      return [
        await sidecar.cpu_us(requestOfMany(keys, models)),
        sidecar.start_ms,
        sidecar.heap_mib,
        (await sidecar.cpu_us(get('/metrics'), sidecar.adminUrl)) / 1000,
        await sidecar.cpu_us(get('/v1/models')),
        await sidecar.cpu_us(get(`/v1/models/${growthModel(models - 1)}`)),
      ];
    }),
});

/** Every table by its name for `--tables`. */
export const growthTables: Readonly<Record<string, MeasuredTable>> = {
  body: requests('A long message', 'characters', [1e3, 1e4, 1e5, 1e6, 16e6]),
  messages: requests('Many messages of 100 characters', 'messages', powers(1e4)),
  tools: requests('Many tools', 'tools', powers(1e3)),
  accounts: configuration('Accounts, each with a key', 'accounts', powers(1e6)),
  keys: configuration('Keys of one account', 'keys', powers(1e6)),
  models: configuration('Models', 'models', [5, 50, 500, 5000]),
  providers: configuration('Providers, all of them upstreams of one model', 'providers', fives),
  sticky: configuration('The same with `routing.sticky`', 'providers', fives, {
    config: { routing: { sticky: 'conversation' } },
  }),
  websockets: {
    title: 'Idle WebSockets of the Responses API',
    unit: 'WebSockets',
    sizes: [500, 5000],
    columns: [
      { head: 'memory of each, KiB', digits: 1, growth: 'constant' },
      { head: 'after a reply to 1,000 characters', digits: 1, growth: 'constant' },
    ],
    measure: (size, upstream_port) => {
      const websocket = { max_open: 1e6, max_open_per_account: 1e6 };
      return withSidecar({ upstream_port, config: { responses: { websocket } } }, sidecar =>
        memoryOfWebSockets(sidecar, size),
      );
    },
  },
};
