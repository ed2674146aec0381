import { Registry } from 'prom-client';
import { type Dispatcher, Pool } from 'undici';
import { z } from 'zod';
import type { ChatRequest } from '../../canonical.ts';
import type { Clock } from '../../clock.ts';
import type { ContentLimits } from '../../telemetry/content-capture.ts';
import type { Log } from '../../telemetry/log.ts';
import { pluginMetrics } from '../../telemetry/metric-factory.ts';
import type { RoutingMetrics } from '../../telemetry/routing-metrics.ts';
import type { Adapter, ProviderDefinition, Target, UpstreamRequest } from '../adapter.ts';
import { droppableParameters, fitted } from '../attempt/fit-request.ts';
import { Bulkhead } from '../routing/bulkhead.ts';
import { type BreakerState, CircuitBreaker } from '../routing/circuit-breaker.ts';
import { HealthCheck } from '../routing/health-check.ts';
import { readKeyFile, watchKeyFile } from './key-file.ts';
import { KeyPool, type ProviderKey } from './key-pool.ts';
import { UpstreamCall } from './upstream-call.ts';
import { upstreamLimits } from './upstream-limits.ts';

/** What every provider's configuration has, whatever its adapter. */
export const providerBaseSchema = z.strictObject({
  base_url: z
    .url({ protocol: /^https?$/, error: 'must be an http:// or https:// address' })
    .describe('Where the API begins, usually with `/v1`.'),
  api_key: z
    .string()
    .min(1)
    .optional()
    .describe('Sent as `Authorization: Bearer …`, or as the adapter says; usually `${ENV}`.'),
  api_keys: z
    .array(z.string().min(1))
    .min(1, 'must list at least one key')
    .optional()
    .describe(
      'Several keys, used in turn in place of `api_key`. One that the upstream refuses (401, 403) or limits (429) rests while there are others.',
    ),
  api_key_file: z
    .string()
    .min(1)
    .optional()
    .describe('A file with a key in each line, in place of `api_key`; read again when it changes.'),
  headers: z
    .record(z.string(), z.string())
    .default({})
    .describe('Further headers of every upstream request.'),
  extra_parameters: z
    .array(z.string())
    .default([])
    .describe('Request fields outside the interface that this provider may be sent, such as `top_k`.'),
  drop_parameters: z
    .array(z.enum(droppableParameters))
    .default([])
    .describe('Parameters that this server does not take: not sent, and named in `x-ignored-parameters`.'),
  ...upstreamLimits,
  max_event_bytes: z.int().positive().default(1_048_576).describe('The largest event of a stream.'),
  pass_upstream_429: z
    .boolean()
    .default(false)
    .describe("Answer the upstream's own 429 as 429 `rate_limit_error` instead of 502 `provider_error`."),
  max_reply_bytes: z.int().positive().default(67_108_864).describe('The largest reply, streamed or not.'),
});

export type ProviderConfig = z.infer<typeof providerBaseSchema>;

const keysOf = ({ api_key, api_keys, api_key_file }: ProviderConfig): readonly string[] =>
  api_key_file === undefined
    ? (api_keys ?? (api_key === undefined ? [] : [api_key]))
    : readKeyFile(api_key_file);

/** What of the gateway around it a provider needs. */
export interface Surroundings {
  readonly clock: Clock;
  readonly log: Log;
  /** Where metrics of adapters are; without it they are shown nowhere. */
  readonly registry?: Registry;
  /** What of prompts and answers goes onto the spans of attempts. */
  readonly content: ContentLimits;
}

/** A configured upstream: its adapter, its connections, its limits, and how it is. */
export class Provider {
  readonly name: string;
  readonly adapter: Adapter;
  readonly config: ProviderConfig;
  readonly address: { readonly host: string; readonly port: number };
  readonly keys: KeyPool;
  readonly content: ContentLimits;
  /** What every request to this provider says beside its key. */
  readonly ownHeaders: Readonly<Record<string, string>>;
  readonly breaker: CircuitBreaker;
  readonly bulkhead: Bulkhead;
  /** There if one is configured. */
  readonly health: HealthCheck | undefined;
  #metrics: RoutingMetrics | undefined;
  #unwatch: (() => void) | undefined;
  readonly #surroundings: Surroundings;
  readonly #pool: Pool;
  readonly #basePath: string;
  readonly #headers: Record<string, string>;
  readonly #endWatch: (() => void) | undefined;

  constructor(
    name: string,
    definition: ProviderDefinition<unknown>,
    config: ProviderConfig,
    options: unknown,
    surroundings: Surroundings,
  ) {
    const url = new URL(config.base_url);
    this.name = name;
    this.config = config;
    this.content = surroundings.content;
    this.adapter = definition.create(options, {
      provider: name,
      log: surroundings.log.child({ provider: name }),
      clock: surroundings.clock,
      metrics: pluginMetrics(surroundings.registry ?? new Registry(), definition.name),
    });
    this.address = { host: url.hostname, port: Number(url.port) || (url.protocol === 'https:' ? 443 : 80) };
    this.#basePath = url.pathname.replace(/\/+$/, '');
    this.ownHeaders = { ...this.adapter.headers, ...lowerCased(config.headers) };
    this.keys = new KeyPool(keysOf(config), key => lowerCased(this.#credential(key)), surroundings.clock);
    if (config.api_key_file !== undefined) {
      this.#endWatch = watchKeyFile(
        config.api_key_file,
        keys => this.keys.replace(keys),
        err =>
          surroundings.log.error(
            { err, provider: name },
            'the key file cannot be read; the keys stay as they were',
          ),
      );
    }
    this.#headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      // A compressed stream would arrive in blocks instead of tokens.
      'accept-encoding': 'identity',
      'user-agent': 'sluice',
      ...this.ownHeaders,
    };
    this.#pool = new Pool(url.origin, {
      // Every stream holds a connection, so a cap here would be a cap on streams.
      connections: null,
      pipelining: 1,
      connect: { timeout: config.connect_timeout_ms },
      headersTimeout: config.idle_timeout_ms,
      bodyTimeout: config.idle_timeout_ms,
      keepAliveTimeout: 4000,
    });
    this.#surroundings = surroundings;
    this.bulkhead = new Bulkhead(config);
    this.breaker = new CircuitBreaker(config.breaker, surroundings.clock, state => this.#breakerIs(state));
    const { health_check } = config;
    this.health =
      health_check &&
      new HealthCheck(
        health_check,
        path => this.#get(path),
        well => this.#healthIs(well),
      );
  }

  /** From now on `metrics` show how it is, and its health check runs if it has one; until it is closed. */
  watch(metrics: RoutingMetrics): void {
    this.#metrics = metrics;
    this.#unwatch = metrics.watch(this);
    this.health?.start();
  }

  /** False while its health check fails. */
  get healthy(): boolean {
    return this.health?.healthy ?? true;
  }

  /** `request` in this server's format, and in `ignored` what could not be said in it. */
  encode(request: ChatRequest, target: Target): UpstreamRequest {
    const taken = {
      parameters: this.adapter.parameters,
      drop: this.config.drop_parameters,
      extra: target.extraParameters,
    };
    const fit = fitted(request, taken);
    const encoded = this.adapter.encode(fit.request, target);
    if (fit.ignored.length === 0) return encoded;
    return { ...encoded, ignored: [...fit.ignored, ...(encoded.ignored ?? [])] };
  }

  /** `text` without what only this provider may be told. */
  redacted(text: string): string {
    return this.#secrets.reduce((clean, secret) => clean.replaceAll(secret, '[secret]'), text);
  }

  /** What the upstream is told and nobody else may be; shorter values would be found in every text. */
  get #secrets(): string[] {
    return [...this.keys.values, ...Object.values(this.config.headers)].filter(({ length }) => length >= 8);
  }

  #credential(api_key: string): Readonly<Record<string, string>> {
    return this.adapter.credential?.(api_key) ?? { authorization: `Bearer ${api_key}` };
  }

  /** Sends `body` to `path` below the base address, with `key`. */
  send(
    path: string,
    body: string,
    headers: Readonly<Record<string, string>>,
    key: ProviderKey | undefined,
  ): UpstreamCall {
    return this.#dispatch({
      method: 'POST',
      path: this.#basePath + path,
      headers: { ...this.#headers, ...key?.headers, ...headers },
      body,
    });
  }

  /** Asks for `path` from the server's root. */
  #get(path: string): UpstreamCall {
    const headers = { 'user-agent': 'sluice', ...this.ownHeaders, ...this.keys.next()?.headers };
    return this.#dispatch({ method: 'GET', path, headers });
  }

  #dispatch(options: Dispatcher.DispatchOptions): UpstreamCall {
    const call = new UpstreamCall();
    try {
      this.#pool.dispatch(options, call);
    } catch (cause) {
      call.cancel(cause instanceof Error ? cause : new Error(String(cause)));
    }
    return call;
  }

  #breakerIs(state: BreakerState): void {
    const { log } = this.#surroundings;
    this.#metrics?.breakerBecame(this.name, state);
    const facts = { provider: this.name, breaker: state };
    if (state === 'open') log.warn(facts, 'too many attempts fail: the provider is left alone for a while');
    else if (state === 'closed') log.info(facts, 'the provider has recovered');
  }

  #healthIs(well: boolean): void {
    const facts = { provider: this.name };
    if (!well)
      return this.#surroundings.log.warn(facts, 'the health check fails: the provider is left alone');
    this.#surroundings.log.info(facts, 'the health check is good again');
    this.breaker.tryNow();
  }

  /** Ends every connection, idle or not, and the health check. */
  close(): Promise<void> {
    this.#endWatch?.();
    this.health?.close();
    this.#unwatch?.();
    return this.#pool.destroy();
  }
}

const lowerCased = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
