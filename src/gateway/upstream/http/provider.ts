import { isDeepStrictEqual } from 'node:util';
import { Registry } from 'prom-client';
import type { Clock } from '../../../common/clock.ts';
import type { ProviderConfig } from '../../../common/options.ts';
import { watchFiles } from '../../../common/watch-files.ts';
import type { Log } from '../../../telemetry/log.ts';
import { pluginMetrics } from '../../../telemetry/metric-factory.ts';
import type { RoutingMetrics } from '../../../telemetry/routing-metrics.ts';
import type { ChatRequest, Operation } from '../../exchange/canonical.ts';
import {
  type Adapter,
  createAdapter,
  type ProviderDefinition,
  type Target,
  type UpstreamRequest,
} from '../adapter.ts';
import type { ContentLimits } from '../attempt/content-capture.ts';
import { type AcceptedParameters, fitted } from '../attempt/fit-request.ts';
import { checkedHeaders, guarded } from '../guarded-adapter.ts';
import { finishLabel } from '../openai/finish-reason.ts';
import { Bulkhead } from '../routing/bulkhead.ts';
import { type BreakerState, CircuitBreaker } from '../routing/circuit-breaker.ts';
import { HealthCheck } from '../routing/health-check.ts';
import { CertificateExpiry } from './certificate-expiry.ts';
import { Connections } from './connections.ts';
import { keysOf } from './key-file.ts';
import { KeyPool, type ProviderKey } from './key-pool.ts';
import { withoutCredentials } from './scrub.ts';
import type { CallOwner, UpstreamCall } from './upstream-call.ts';

type Headers = Readonly<Record<string, string>>;

/** Unknown finish reasons of one provider that are logged. */
const max_unknown_finishes = 20;

const requestHeaders: Headers = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  // A compressed stream would arrive in blocks instead of tokens.
  'accept-encoding': 'identity',
  'user-agent': 'sluice',
};

/** The parts of the gateway that a provider uses. */
export interface ProviderSetup {
  readonly clock: Clock;
  readonly log: Log;
  /** Registry of the adapters' metrics, which are not exported without it. */
  readonly registry?: Registry;
  /** How much of prompts and answers is recorded on the spans of attempts. */
  readonly content: ContentLimits;
  /** The provider in whose place this one is put: of the same server it keeps breaker, permits, health and the pauses of keys. */
  readonly before?: Provider | undefined;
}

/** A configured upstream server: its adapter, connections, keys, limits and health. */
export class Provider {
  readonly name: string;
  readonly adapter: Adapter;
  readonly config: ProviderConfig;
  readonly address: { readonly host: string; readonly port: number };
  readonly keys: KeyPool;
  readonly certificates: CertificateExpiry;
  readonly content: ContentLimits;
  /** Headers of every request beside the key. */
  readonly ownHeaders: Headers;
  readonly breaker: CircuitBreaker;
  readonly bulkhead: Bulkhead;
  /** Undefined unless configured. */
  readonly health: HealthCheck | undefined;
  readonly #log: Log;
  readonly #connections: Connections;
  readonly #basePath: string;
  readonly #headers: Headers;
  /** Headers of a request with a key, as undici takes them fastest: names and values in turn. */
  readonly #keyed = new WeakMap<object, readonly string[]>();
  readonly #accepted: AcceptedParameters;
  readonly #unwatchKeys: (() => void) | undefined;
  readonly #given: readonly [definition: ProviderDefinition<unknown>, options: unknown];
  readonly #unknownFinishes = new Set<string>();
  #metrics: RoutingMetrics | undefined;
  #unwatch: (() => void) | undefined;
  #before: Provider | undefined;
  #isRetired = false;

  constructor(
    name: string,
    definition: ProviderDefinition<unknown>,
    config: ProviderConfig,
    options: unknown,
    { clock, log, content, registry = new Registry(), before }: ProviderSetup,
  ) {
    const url = new URL(config.base_url);
    this.name = name;
    this.#given = [definition, options];
    this.config = config;
    this.content = content;
    this.#log = log;
    this.adapter = this.#createAdapter(clock, registry);
    this.address = { host: url.hostname, port: Number(url.port) || (url.protocol === 'https:' ? 443 : 80) };
    this.#basePath = url.pathname.replace(/\/+$/, '');
    this.ownHeaders = { ...this.adapter.headers, ...lowerCased(config.headers) };
    this.#headers = { ...requestHeaders, ...this.ownHeaders };
    this.#accepted = acceptedBy(this.adapter, config);
    this.keys = new KeyPool(keysOf(config), key => lowerCased(headersOfKey(this.adapter, key)), clock);
    if (config.api_key_file !== undefined)
      this.#unwatchKeys = watchFiles([config.api_key_file], () => this.readKeysAgain());
    if (before?.isSameServer(this)) this.#before = before;
    this.certificates = this.#before?.certificates ?? new CertificateExpiry(clock);
    this.#connections = new Connections(url, config, this.certificates);
    this.bulkhead = this.#before?.bulkhead ?? new Bulkhead(config);
    this.breaker = this.#before?.breaker ?? new CircuitBreaker(config.breaker, clock, this.#breakerBecame);
    if (config.health_check)
      this.health =
        this.#before?.health ?? new HealthCheck(config.health_check, this.#get, this.#healthBecame);
  }

  /**
   * Reports the provider's state to `metrics` and runs its health check, until it is retired or closed. From now on what it shares with the
   * one before it has its own options.
   */
  watch(metrics: RoutingMetrics): void {
    const before = this.#before;
    this.#before = undefined;
    before?.retire(this);
    this.#metrics = metrics;
    this.#unwatch = metrics.watch(this);
    if (before) {
      this.keys.inherit(before.keys);
      this.bulkhead.configure(this.config);
      this.breaker.configure(this.config.breaker, this.#breakerBecame);
    }
    const { health_check } = this.config;
    if (!health_check || before?.health !== this.health) this.health?.start();
    else this.health?.restart(health_check, this.#get, this.#healthBecame);
  }

  /** Whether `other` stands for the same server, whatever its other options. */
  isSameServer(other: Provider): boolean {
    return this.name === other.name && this.config.base_url === other.config.base_url;
  }

  /** Whether a provider that was created from these would be the same. */
  isCreatedFrom(
    definition: ProviderDefinition<unknown>,
    config: ProviderConfig,
    options: unknown,
    content: ContentLimits,
  ): boolean {
    const own = [...this.#given, this.config, this.content];
    return this.#given[0] === definition && isDeepStrictEqual(own.slice(1), [options, config, content]);
  }

  /** Reads the key file again, if there is one, without waiting for its next check. Keys that cannot be read stay as they were. */
  readKeysAgain(): void {
    if (this.config.api_key_file === undefined) return;
    try {
      this.keys.replace(keysOf(this.config));
    } catch (err) {
      const facts = { err, provider: this.name };
      this.#log.error(facts, 'failed to read the key file; the keys stay as they were');
    }
  }

  /** Ends its watches and its health check, but for what `heir` has taken over; running attempts go on. */
  retire(heir?: Provider): void {
    if (this.#isRetired) return;
    this.#isRetired = true;
    this.#unwatchKeys?.();
    this.#unwatch?.();
    if (!this.health || this.health !== heir?.health) this.health?.close();
  }

  /** False while its health check fails. */
  get healthy(): boolean {
    return this.health?.healthy ?? true;
  }

  /** Encodes `request` in this server's format; `ignored` names what the format cannot express. */
  encode(request: ChatRequest, target: Target): UpstreamRequest {
    const fit = fitted(request, this.#accepted);
    const { operation } = request;
    const adapter = operation === undefined ? this.adapter : this.adapterOf(operation);
    const encoded = adapter.encode(fit.request, target);
    if (fit.ignored.length === 0) return encoded;
    return { ...encoded, ignored: [...fit.ignored, ...(encoded.ignored ?? [])] };
  }

  /** The adapter for requests of an operation other than chat. */
  adapterOf(operation: Operation): Adapter {
    const adapter = { ...this.adapter, ...operation, ...this.adapter.operations?.[operation.name] };
    return guarded(this.#given[0].name, adapter, word => this.#finishedUnknown(word));
  }

  /** `text` without this provider's keys and header values of at least 8 characters; shorter ones would be found in every text. */
  redacted(text: string): string {
    return [...this.keys.values, ...Object.values(this.config.headers)]
      .filter(({ length }) => length >= 8)
      .reduce((clean, secret) => clean.replaceAll(secret, '[secret]'), text);
  }

  /** Sends `body` to `path` below the base address, for `owner` and with `key`; on a connection of its own if it `isResent`. */
  send(
    owner: CallOwner,
    path: string,
    body: string,
    headers: Headers,
    key: ProviderKey | undefined,
    isResent = false,
  ): UpstreamCall {
    const all = this.#headersAnd(headers, key);
    return this.#connections.post(owner, this.#basePath + path, all, body, isResent);
  }

  #headersAnd(added: Headers, key: ProviderKey | undefined): readonly string[] {
    const own = this.#headersWith(key);
    const names = Object.keys(added);
    if (names.length === 0) return own;
    const isReplacing = names.some(name => own.includes(name));
    return isReplacing ? listed({ ...this.#headers, ...key?.headers, ...added }) : own.concat(listed(added));
  }

  #headersWith(key: ProviderKey | undefined): readonly string[] {
    const known = this.#keyed.get(key ?? this);
    if (known) return known;
    const made = listed({ ...this.#headers, ...key?.headers });
    this.#keyed.set(key ?? this, made);
    return made;
  }

  /** Ends every connection, idle or not, and the health check. */
  close(): Promise<void> {
    // One that was never watched leaves what it shares to the one before it.
    if (this.#before) this.#unwatchKeys?.();
    else this.retire();
    return this.#connections.close();
  }

  #createAdapter(clock: Clock, registry: Registry): Adapter {
    const [definition, options] = this.#given;
    const created = createAdapter(definition, options, {
      provider: this.name,
      log: this.#log.child({ provider: this.name }),
      clock,
      metrics: pluginMetrics(registry, definition.name),
    });
    if (created.headers) checkedHeaders(`headers of the adapter ${definition.name}`, created.headers);
    return guarded(definition.name, created, word => this.#finishedUnknown(word));
  }

  /** Requests `path` from the server's root. */
  readonly #get = (path: string, owner: CallOwner): UpstreamCall =>
    this.#connections.get(owner, path, {
      'user-agent': 'sluice',
      ...this.ownHeaders,
      ...this.keys.next()?.headers,
    });

  /** Counts a finish reason that the adapter does not know, and logs the first of each word. */
  #finishedUnknown(word: string): void {
    this.#metrics?.finishedUnknown(this.name, finishLabel(word));
    if (this.#unknownFinishes.has(word) || this.#unknownFinishes.size >= max_unknown_finishes) return;
    this.#unknownFinishes.add(word);
    const facts = { provider: this.name, finish_reason: withoutCredentials(word) };
    this.#log.warn(facts, 'unknown finish_reason, treated as stop');
  }

  readonly #breakerBecame = (state: BreakerState): void => {
    this.#metrics?.breakerBecame(this.name, state);
    const facts = { provider: this.name, breaker: state };
    const seconds = Math.ceil(this.breaker.retry_in_ms / 1000);
    if (state === 'open') this.#log.warn(facts, `circuit breaker opened, retrying in ${seconds} s`);
    else if (state === 'closed') this.#log.info(facts, 'circuit breaker closed');
  };

  readonly #healthBecame = (healthy: boolean): void => {
    const facts = { provider: this.name };
    if (!healthy) return this.#log.warn(facts, 'health check failed, sending no requests to the provider');
    this.#log.info(facts, 'health check passed, sending requests to the provider again');
    this.breaker.retryNow();
  };
}

const acceptedBy = (adapter: Adapter, config: ProviderConfig): AcceptedParameters => ({
  parameters: adapter.parameters,
  drop: config.drop_parameters,
  extra: config.extra_parameters,
  messages: { fields: adapter.messageFields ?? new Set(), send_reasoning: config.send_reasoning },
});

const headersOfKey = (adapter: Adapter, api_key: string): Headers =>
  adapter.credential?.(api_key) ?? { authorization: `Bearer ${api_key}` };

const listed = (headers: Headers): readonly string[] => Object.entries(headers).flat();

const lowerCased = (headers: Headers): Headers =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
