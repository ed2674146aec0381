import { serve } from '../../src/cli/serve.ts';
import { defaultModels } from '../../src/config/example-models.ts';
import type { GatewayConfig } from '../../src/config/schema.ts';
import type { ChunkChoice, Usage } from '../../src/gateway/exchange/canonical.ts';
import type { Gateway } from '../../src/mount/gateway.ts';
import type { ProviderName } from './provider-fixtures.ts';

type Section<Name extends keyof GatewayConfig> = Partial<NonNullable<GatewayConfig[Name]>>;

export interface GatewayOverrides {
  /** The provider's `base_url`, or what has one. */
  readonly upstream: string | { readonly url: string };
  /** Further providers, `second`, `third` …: each model is served by all, in this order of priority unless `standings` say otherwise. */
  readonly others?: readonly { readonly url: string }[];
  /** Fields of each upstream of every model, such as `priority`, in the order of the providers. */
  readonly standings?: readonly Readonly<Record<string, unknown>>[];
  /** Fields of each provider alone, in that order. */
  readonly providers?: readonly Readonly<Record<string, unknown>>[];
  readonly adapter?: ProviderName;
  readonly server?: Section<'server'>;
  /** Further fields of the provider, such as `idle_timeout_ms`. */
  readonly provider?: Readonly<Record<string, unknown>>;
  readonly stages?: GatewayConfig['stages'];
  /** Put over the models of the example catalog, every one of them. */
  readonly model?: Readonly<Record<string, unknown>>;
  /** Whole sections in place of those made here. */
  readonly config?: Partial<GatewayConfig>;
  readonly options?: Parameters<typeof serve>[1];
}

/** The key of the one account, `tester`. */
export const clientKey = 'sk-client-key-0123456789';
/** The key that the gateway shows to its upstream; no client must ever see it. */
export const upstreamKey = 'sk-upstream-key-9876543210';

/** Payload of an event: a chunk, an error, or an event of the responses endpoint. */
export interface ClientJson {
  readonly id?: string;
  readonly object?: string;
  readonly created?: number;
  readonly model?: string;
  readonly choices?: readonly ChunkChoice[];
  readonly usage?: Usage;
  readonly error?: { readonly message: string; readonly type: string };
  readonly [key: string]: unknown;
}

/** An event as a client reads it; `json` is empty where `data` is not JSON. */
export interface ClientEvent {
  readonly event: string | undefined;
  readonly data: string;
  readonly json: ClientJson;
}

/** A streamed reply, read to its end. */
export interface ClientStream {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly events: readonly ClientEvent[];
}

export interface GatewayUnderTest {
  readonly url: string;
  readonly adminUrl: string;
  readonly key: string;
  readonly gateway: Gateway;
  /** POSTs `body` with the key; to chat completions unless `path` says otherwise. */
  post(body: unknown, init?: RequestInit & { path?: string }): Promise<Response>;
  /** The same with `stream: true`, read to its end. */
  stream(body: object, init?: RequestInit & { path?: string }): Promise<ClientStream>;
  /** The text of `/metrics`. */
  metrics(): Promise<string>;
  /** The sum of a metric's samples whose labels include `labels`. */
  metric(name: string, labels?: Readonly<Record<string, string>>): Promise<number>;
  close(): Promise<void>;
}

/** A request with one user message. */
export function ask(content: string, more: object = {}): Record<string, unknown> {
  return { model: 'aion-labs/aion-3.5', messages: [{ role: 'user', content }], ...more };
}

/** The sidecar on free ports, in this process, with the example catalog in front of one upstream. */
export async function startGateway(overrides: GatewayOverrides): Promise<GatewayUnderTest> {
  const sidecar = await serve(configOf(overrides), overrides.options);
  const { url, adminUrl, gateway } = sidecar;
  const metrics = async () => (await fetch(`${adminUrl}/metrics`)).text();
  const post: GatewayUnderTest['post'] = (body, { path = '/v1/chat/completions', ...init } = {}) =>
    fetch(url + path, {
      method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
      ...init,
      headers: {
        authorization: `Bearer ${clientKey}`,
        'content-type': 'application/json',
        ...(init.headers as Record<string, string> | undefined),
      },
    });
  return {
    url,
    adminUrl,
    gateway,
    key: clientKey,
    post,
    async stream(body, init) {
      const response = await post({ ...body, stream: true }, init);
      const text = await response.text();
      return { status: response.status, headers: response.headers, text, events: eventsOf(text) };
    },
    metrics,
    metric: async (name, labels = {}) => sumOf(await metrics(), name, labels),
    close: () => sidecar.close(),
  };
}

/** Names of the providers of a gateway under test. */
export const providerNames = ['upstream', 'second', 'third', 'fourth'] as const;

/** The configuration with which `startGateway` starts. */
export function configOf(overrides: GatewayOverrides): GatewayConfig {
  const { server, stages, model, config } = overrides;
  return {
    server: { port: 0, unready_ms: 0, ...server },
    admin: { port: 0 },
    log: { level: 'silent' },
    providers: providersOf(overrides),
    models: defaultModels('upstream').map(entry => ({ ...entry, ...servedBy(overrides, entry), ...model })),
    accounts: { tester: { keys: [{ value: clientKey }] } },
    ...(stages && { stages }),
    ...config,
  } as GatewayConfig;
}

function providersOf({
  upstream,
  others = [],
  adapter = 'vllm',
  provider,
  providers = [],
}: GatewayOverrides) {
  const urls = [typeof upstream === 'string' ? upstream : upstream.url, ...others.map(({ url }) => url)];
  const entries = urls.map((base_url, at) => [
    providerNames[at],
    { adapter, base_url, api_key: upstreamKey, ...provider, ...providers[at] },
  ]);
  return Object.fromEntries(entries) as Record<string, object>;
}

function servedBy(
  { others, standings = [] }: GatewayOverrides,
  { upstreams }: { upstreams: readonly object[] },
) {
  if (!others) return {};
  const names = providerNames.slice(0, others.length + 1);
  return {
    upstreams: names.map((provider, at) => ({
      ...upstreams[0],
      provider,
      priority: at + 1,
      ...standings[at],
    })),
  };
}

/** The events of a stream by its blank lines. Throws on anything that the interface does not promise. */
export function eventsOf(text: string): ClientEvent[] {
  const blocks = text.split('\n\n');
  if (blocks.pop() !== '') throw new Error(`the stream does not end with a blank line: ${text.slice(-200)}`);
  return blocks.filter(block => !block.startsWith(':')).map(eventOf);
}

function eventOf(block: string): ClientEvent {
  const match = /^(?:event: ([^\n]+)\n)?data: ([^\n]*)$/.exec(block);
  if (!match) throw new Error(`not an event as promised: ${JSON.stringify(block)}`);
  const [, event, data = ''] = match;
  return { event, data, json: data.startsWith('{') ? (JSON.parse(data) as ClientJson) : {} };
}

/** The sum of a metric's samples whose labels include `labels`. */
export function sumOf(text: string, name: string, labels: Readonly<Record<string, string>> = {}): number {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  return text
    .split('\n')
    .filter(line => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
    .filter(line => wanted.every(pair => line.includes(pair)))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}
