import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Registry } from 'prom-client';
import { z } from 'zod';
import type { Clock } from '../common/clock.ts';
import { checkCreated, checkedBy } from '../common/config-error.ts';
import type { Finding } from '../common/finding.ts';
import { isObject } from '../common/json-object.ts';
import { aFunction, isObjectSchema } from '../common/methods.ts';
import type { ProviderConfig } from '../common/options.ts';
import type { Account } from '../gateway/accounts/accounts.ts';
import type { Catalog } from '../gateway/catalog/catalog.ts';
import type { FindAccount, RequestHandler, StagePlan } from '../gateway/exchange/stage-plan.ts';
import type { Plans } from '../gateway/limits/plan-limits.ts';
import type { StateStore } from '../gateway/limits/state-store.ts';
import type { LedgerEntry } from '../gateway/settlement/ledger-entry.ts';
import type { BreakerState } from '../gateway/upstream/routing/circuit-breaker.ts';
import type { Upstream } from '../gateway/upstream/routing/upstream.ts';
import type { Log } from '../telemetry/log.ts';
import type { PluginMetrics } from '../telemetry/metric-factory.ts';
import type { AccountsConfig, ConfiguredAccounts } from './configured-accounts.ts';
import type { AllowedTags } from './key-tags.ts';
import type { OperatorRole } from './operator-role.ts';
import type { ProviderControl, ProviderSwitch } from './provider-controls.ts';
import type { RecordsStore } from './records-store.ts';
import type { RunningExchanges } from './running-exchange.ts';
import type { AdminSignIn, PortalSettings } from './sign-in-schema.ts';

/** An operator whom the application has signed in. A string is the name of an admin. */
export type OperatorAnswer =
  | string
  | {
      /** The name in the audit log. */
      readonly name: string;
      /** `operator` sees no money and no audit log; `viewer` changes nothing. */
      readonly role: OperatorRole;
    }
  | undefined;

/** Says which operator a request is from, by the application's own sign-in; `undefined` denies access. */
export type OperatorOf<R extends IncomingMessage = IncomingMessage> = (
  request: R,
) => OperatorAnswer | PromiseLike<OperatorAnswer>;

/** What attempts find at a provider now. */
export interface ProviderStatus {
  /** Its name. */
  readonly name: string;
  /** Whether its health check succeeds. */
  readonly healthy: boolean;
  /** Its circuit breaker. */
  readonly breaker: { readonly state: BreakerState; readonly retry_in_ms: number; readonly share: number };
  /** Its concurrency. */
  readonly bulkhead: { readonly in_flight: number; readonly queued: number; readonly hasPermit: boolean };
}

/** A process as it is now, or all of a server as one. */
export interface ProcessStatus {
  /** Exchanges that have begun and are not settled. */
  readonly in_flight: number;
  /** Whether it serves requests. */
  readonly ready: boolean;
  /** For operators, one per line. */
  readonly conditions: readonly string[];
  /** The providers. */
  readonly providers: readonly ProviderStatus[];
}

/** A provider as the configuration has it. */
export interface ListedProvider {
  /** Its name. */
  readonly name: string;
  /** Name of its adapter. */
  readonly adapter: string;
  /** Where it is. */
  readonly address: { readonly host: string; readonly port: number };
  /** Its settings. */
  readonly config: ProviderConfig;
  /** What operators have set of it; undefined for nothing. */
  readonly control: ProviderControl | undefined;
}

/** A line of a file, from 1; `code`: it was given in code; `default`: it is not written anywhere. */
export type ConfigPlace = { readonly file: string; readonly line: number } | 'code' | 'default';

/** The result of a reload. */
export interface Reloaded {
  /** Sections of the configuration that are not as they were, such as `models`, in alphabetical order. */
  readonly changed: readonly string[];
  /** Options that have changed and keep their former value until a restart, such as `server.port`. */
  readonly needsRestart: readonly string[];
  /** Warnings about valid options that have no effect, as at the start. */
  readonly warnings: readonly string[];
}

/** What of the configuration extensions see. */
export interface ExtensionSettings {
  /** Sign-in of operators. */
  readonly admin: AdminSignIn;
  /** The customers' portal. */
  readonly portal: PortalSettings;
  /** Limits by plan. */
  readonly plans: Plans;
  /** Accounts. */
  readonly accounts: AccountsConfig;
  /** Tags that keys may have. */
  readonly tags?: AllowedTags;
  /** Who is told of notices. */
  readonly notices?: {
    readonly webhooks: Readonly<Record<string, unknown>>;
    readonly mail?: { readonly to: readonly string[]; readonly customers: boolean } | undefined;
    readonly thresholds: readonly number[];
  };
  /** Bounds of requests and of slow clients. */
  readonly server: {
    readonly max_body_bytes: number;
    readonly max_body_values: number;
    readonly max_body_keys: number;
    readonly body_timeout_ms: number;
    readonly slow_client_ms: number;
  };
  /** The chain, in order. */
  readonly stages: readonly Pick<StagePlan, 'name' | 'options' | 'authenticates'>[];
}

/** Accounts that the application names by `accountOf`. */
export interface GivenAccounts {
  /** The account that the application names for a request. */
  readonly find: FindAccount;
  /** The account that the application gave for `id` last, if it is among those remembered. */
  lastGiven(id: string): Account | undefined;
  /** Accounts that the application gave last, with `part` in their ids in any case; at most `limit`, the last one first. */
  given(part: string, limit: number): readonly Account[];
}

/**
 * The gateway as an extension sees it. What a reload changes is read anew from these properties: do not keep their values. Everything is
 * read-only, but the methods of `records.store`.
 */
export interface ExtensionContext {
  /** Time of day and of durations; the option `clock` of `createGateway` replaces it. */
  readonly clock: Clock;
  /** Log with the extension's name on every line. */
  readonly log: Log;
  /** Creates metrics; their names begin with `sluice_` and the extension's name. */
  readonly metrics: PluginMetrics;
  /** The configuration. */
  readonly settings: ExtensionSettings;
  /** Accounts, keys, ledger, usage, audit log and sessions. */
  readonly records: {
    readonly store: RecordsStore;
    /** True if they end with the process. */
    readonly isMemory: boolean;
    /** Lets this instance notice at once what was changed through `store`; others notice it within seconds. */
    refresh(): Promise<unknown>;
    /**
     * Shows `watcher` the exchanges that are about to be written to the ledger, in batches beside the requests, until the returned function
     * is called: those of all processes of the server, in its primary one. A batch that cannot be written is shown again.
     */
    watch(watcher: (entries: readonly LedgerEntry[]) => void): () => void;
  };
  /** Accounts and keys of the configuration. */
  readonly configured: Pick<ConfiguredAccounts, 'find' | 'findById'>;
  /** The models. */
  readonly catalog: Catalog;
  /** The providers. */
  readonly providers: readonly ListedProvider[];
  /** Takes providers out of service and back. */
  readonly controls: ProviderSwitch;
  /**
   * Tests a provider: asks for its list of models with each of its keys, and, if `model` (the model's name there) is given, for one token.
   * Runs one test at a time in this process, for at most 30 s. Returns what is wrong and what to do, for operators only. Rejects with
   * NotThere.
   */
  testProvider(provider: string, model?: string): Promise<readonly Finding[]>;
  /** Where the value at a path of the configuration comes from, such as `['models', 0, 'pricing']`, for operators only. */
  sourceOf(path: readonly PropertyKey[]): ConfigPlace;
  /** The upstreams of a model, in the order of the configuration. */
  upstreamsOf(model: string): readonly Upstream[];
  /** Use of the limits of accounts. */
  readonly state: Pick<StateStore, 'statuses' | 'knownStatuses' | 'outage'>;
  /** Accounts that the application names by `accountOf`, if it does. */
  readonly application: GivenAccounts | undefined;
  /** The option `operatorOf` of the application. */
  readonly operatorOf: OperatorOf | undefined;
  /** All processes of the server. */
  readonly server: { all(): Promise<ProcessStatus>; registry(): Promise<Registry> };
  /** The exchanges that run in all processes of the server. */
  readonly running: RunningExchanges;
  /**
   * Reads the configuration again, and serves the next requests with it, in all processes of the server. If it is wrong, rejects with a
   * ConfigError that lists every mistake, and the previous configuration stays in use.
   */
  reload(): Promise<Reloaded>;
  /** The gateway itself, as a client reaches it: a request passes the whole chain and needs a key. */
  readonly handler: RequestHandler;
  /** True in a worker of `server.workers`. Do the whole server's background work in the primary process, where this is false. */
  readonly isWorker: boolean;
  /** True in a sidecar, where no application is behind the gateway. */
  readonly terminal: boolean;
  /** Address at which clients reach the gateway, if it is known. */
  publicUrl(): string | undefined;
  /** True once the gateway closes. */
  isClosing(): boolean;
}

/** A request to switch protocols, such as to WebSocket, that the stages have let through by its headers. */
export interface UpgradeRequest {
  /** The request, which has no body. */
  readonly request: IncomingMessage;
  /** Its connection. An error on it has a listener. */
  readonly socket: Duplex;
  /** What has arrived behind the request already. */
  readonly head: Buffer;
  /** Id of the request. */
  readonly id: string;
  /** Name of its account; undefined if it has none. */
  readonly account_id: string | undefined;
  /** Headers that the reply 101 should have: the id of the request, and what stages have added. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * The gateway for requests that come over the connection, to be asked with `callHandler`: as `handler` of the context, but the
   * application's `accountOf` is asked about the request that switched protocols.
   */
  readonly handler: RequestHandler;
}

/** An extension that runs. Its handlers stay the same until it is closed. */
export interface OpenExtension<Options = unknown> {
  /**
   * Pages or an API for operators: below `/` and the extension's name on the admin listener. Has no sign-in: it must check who asks
   * itself. Calls `next` for what is not there.
   */
  readonly admin?: RequestHandler;
  /**
   * The same for clients, below `publicPath` of a sidecar's public listener, before any stage runs: checks who asks. Paths of the interface win.
   */
  readonly public?: RequestHandler;
  /** Where `public` is; undefined for nowhere. By default `/` and the extension's name. */
  publicPath?(): string | undefined;
  /** Where `upgrade` is; undefined for nowhere, which is the default. A path of the interface may switch protocols as well. */
  upgradePath?(): string | undefined;
  /**
   * Switches protocols for a WebSocket request at `upgradePath`: writes the reply 101, and from then on owns the connection, which it
   * must end. To refuse, it throws a GatewayError before it has written anything; that is answered in the envelope.
   */
  upgrade?(upgrade: UpgradeRequest): void | Promise<void>;
  /** Called after another configuration has begun to serve, with the extension's options in it. */
  configure?(options: Options): void;
  /** Ends what is open and would hold up the end of the gateway, such as streams. */
  drain?(): void;
  /** Ends timers, listeners and background work. Called once, while the stores are still open. */
  close?(): void | Promise<void>;
}

/** An extension, as `defineExtension` returns it. */
export interface ExtensionDefinition<Schema extends z.ZodType = z.ZodType> {
  /** In kebab-case: the path of its handlers, and in logs and metrics. */
  readonly name: string;
  /** The section of the configuration with its options: the name in snake_case, or that of the dialect to which it belongs. */
  readonly section: string | undefined;
  /** Schema of its options. */
  readonly schema: Schema;
  /** Starts it. */
  open(
    context: ExtensionContext,
    options: z.output<Schema>,
  ): OpenExtension<z.output<Schema>> | Promise<OpenExtension<z.output<Schema>>>;
}

/** A definition, whatever its options are. */
export type AnyExtensionDefinition = Omit<ExtensionDefinition, 'open'> & {
  /** Starts it. */
  open(context: ExtensionContext, options: never): OpenExtension<never> | Promise<OpenExtension<never>>;
};

const noOptions = z.strictObject({});

const definitionSchema = z.strictObject({
  name: z.string().regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'must be in kebab-case, such as my-extension'),
  schema: z
    .custom<z.ZodObject>(isObjectSchema, 'must be an object schema of zod 4: z.strictObject({…})')
    .optional(),
  section: z.string().optional(),
  open: aFunction('it gets the context and the options, and returns handlers'),
});

/**
 * Declares an extension: pages and APIs on the admin or the public listener, and work in the background. `extensions` of a configuration, or the
 * option of `createGateway`, lists it; its options stand in the section of its name. Throws a ConfigError for an incomplete definition.
 */
export function defineExtension<Schema extends z.ZodObject = typeof noOptions>(definition: {
  readonly name: string;
  /** Schema of its options; without one it has none. */
  readonly schema?: Schema;
  /** The section with its options if it is that of a dialect, which has the same schema. By default the name in snake_case. */
  readonly section?: string;
  /** Starts it, once for each gateway. */
  open: ExtensionDefinition<Schema>['open'];
}): ExtensionDefinition<Schema> {
  checkedBy('defineExtension', definitionSchema, definition);
  const { name, schema, open } = definition;
  const section = schema && (definition.section ?? name.replaceAll('-', '_'));
  return { name, section, schema: schema ?? (noOptions as unknown as Schema), open };
}

/** Whether a module's export was returned by `defineExtension`, of this copy of the package or another. */
export const isExtensionDefinition = (value: unknown): value is ExtensionDefinition =>
  isObject(value) && typeof value.open === 'function' && 'schema' in value;

const parts = [
  'admin',
  'public',
  'publicPath',
  'upgradePath',
  'upgrade',
  'configure',
  'drain',
  'close',
] as const;

const openSchema = z.strictObject(
  Object.fromEntries(parts.map(name => [name, aFunction('it is a part of an open extension').optional()])),
);

/** Opens an extension. Rejects with a ConfigError if `open` returns anything unknown. */
export async function openExtension(
  { name, open }: ExtensionDefinition,
  context: ExtensionContext,
  options: unknown,
): Promise<OpenExtension> {
  const opened = await open(context, options);
  // Fields of an object of a class are its own business.
  const isPlain = Object.getPrototypeOf(Object(opened)) === Object.prototype;
  const given = isPlain ? opened : Object.fromEntries(parts.map(name => [name, opened[name]]));
  checkCreated(`what open of the extension ${name} returns`, openSchema, given);
  return opened;
}
