import type { IncomingMessage } from 'node:http';
import type { OpenMetricsContentType, Registry } from 'prom-client';
import { z } from 'zod';
import type { Clock } from '../common/clock.ts';
import { checkedBy } from '../common/config-error.ts';
import { aFunction, withMethods } from '../common/methods.ts';
import type { StageEntry } from '../config/given-plugins.ts';
import type { StoreDefinition } from '../config/records-places.ts';
import type { AnyDialectDefinition } from '../gateway/dialects/define-dialect.ts';
import type { StateStore } from '../gateway/limits/state-store.ts';
import type { AnyProviderDefinition } from '../gateway/upstream/adapter.ts';
import type { AnyExtensionDefinition, OperatorOf } from '../records/define-extension.ts';
import type { PostgresPool } from '../records/postgres-pool.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { AccountOf } from './chain/application-accounts.ts';
import { surroundings } from './chain/surroundings.ts';

/** Options that the application passes in code, beside the configuration. `R` is the application's own request, such as Express's. */
export interface GatewayOptions<R extends IncomingMessage = IncomingMessage> {
  /**
   * The chain in order; the configuration must then have no `stages`. Names of built-in stages, paths and packages, each alone or with options,
   * and stages as their factories return them. Paths begin at the working directory.
   *
   * @defaultValue `stages` of the configuration, or the built-in stages in their default order
   * @example
   * ```ts
   * import { createGateway, defineStage } from 'sluice';
   * import { z } from 'zod';
   *
   * const greeting = defineStage({
   *   name: 'greeting',
   *   schema: z.strictObject({ text: z.string() }),
   *   create: ({ text }) => ({
   *     onHeaders(exchange) {
   *       exchange.replyHeaders['x-greeting'] = text;
   *     },
   *   }),
   * });
   * const gateway = await createGateway('sluice.yaml', {
   *   stages: ['error-envelope', 'auth', { validation: { unknown_parameters: 'ignore' } }, greeting({ text: 'Hello' })],
   * });
   * ```
   */
  readonly stages?: readonly StageEntry[];
  /**
   * Adapters of your own, as `defineProvider` returns them, by path or by package: `adapter` in the configuration then accepts their names.
   * Paths begin at the working directory. A configuration can also name the path or package itself: `adapter: ./my-server.ts`.
   *
   * @defaultValue none beside the built-in ones
   * @example
   * ```ts
   * import { createGateway } from 'sluice';
   * import { defineProvider, openAiAdapter } from 'sluice/plugin';
   * import { z } from 'zod';
   *
   * const myServer = defineProvider({
   *   name: 'my-server',
   *   schema: z.strictObject({ region: z.string().default('eu') }),
   *   create: ({ region }) => openAiAdapter({ providerName: 'my-server', headers: { 'x-region': region } }),
   * });
   * const gateway = await createGateway('sluice.yaml', { adapters: [myServer] });
   * ```
   */
  readonly adapters?: readonly (string | AnyProviderDefinition)[];
  /**
   * Dialects of your own, as `defineDialect` returns them, by path or by package, beside those that `dialects` of the configuration lists.
   * Paths begin at the working directory. The options of a dialect stand in its own section of the configuration.
   *
   * @defaultValue none beside the built-in ones
   * @example
   * ```ts
   * import { createGateway } from 'sluice';
   *
   * const gateway = await createGateway('sluice.yaml', { dialects: ['./my-format.ts'] });
   * ```
   */
  readonly dialects?: readonly (string | AnyDialectDefinition)[];
  /**
   * Extensions of your own, as `defineExtension` returns them, by path or by package, beside those that `extensions` of the configuration
   * lists. Paths begin at the working directory.
   *
   * @defaultValue none beside the dashboard
   * @example
   * ```ts
   * import { createGateway } from 'sluice';
   * import { defineExtension } from 'sluice/plugin';
   *
   * const sums = defineExtension({
   *   name: 'sums',
   *   open: ({ records }) => ({
   *     async admin(_request, response) {
   *       response.end(JSON.stringify(await records.store.usage.sum({ by: ['account'] })));
   *     },
   *   }),
   * });
   * const gateway = await createGateway('sluice.yaml', { extensions: [sums] });
   * ```
   */
  readonly extensions?: readonly (string | AnyExtensionDefinition)[];
  /**
   * Stores of your own, as `defineRecordsStore` and `defineStateStore` return them, by path or by package, beside those that `stores.plugins` of the
   * configuration lists: `stores.records` and `stores.state` may then name places in them.
   *
   * @defaultValue none beside the built-in ones
   * @example
   * ```ts
   * import { createGateway } from 'sluice';
   *
   * const gateway = await createGateway('sluice.yaml', { stores: ['./my-store.ts'] });
   * ```
   */
  readonly stores?: readonly (string | StoreDefinition)[];
  /**
   * Answer 404 for every unknown path, instead of calling `next`.
   *
   * @defaultValue `false`
   * @example
   * ```ts
   * import { createServer } from 'node:http';
   * import { createGateway } from 'sluice';
   *
   * const gateway = await createGateway('sluice.yaml', { terminal: true });
   * createServer((request, response) => gateway(request, response, () => {})).listen(8080);
   * ```
   */
  readonly terminal?: boolean;
  /**
   * The application's logger: pino, Fastify's `app.log`, bunyan, `console`, or any object with `error`, `warn`, `info` and `debug`. Each is
   * called with fields and a message. The logger's own level and form hold, not `log.level` and `log.format` of the configuration;
   * `log.sample` holds.
   *
   * @defaultValue a log on standard output, in the form of `log.format`
   * @example
   * ```ts
   * import { pino } from 'pino';
   * import { createGateway } from 'sluice';
   *
   * const log = pino().child({ part: 'gateway' });
   * const gateway = await createGateway('sluice.yaml', { log });
   * ```
   */
  readonly log?: Logger;
  /**
   * The registry of prom-client on which the metrics are registered, such as the application's own. Node's `process_*` and `nodejs_*` are
   * left to the application: `collectDefaultMetrics()`.
   *
   * @defaultValue a registry of the gateway's own, `gateway.registry`
   * @example
   * ```ts
   * import { register } from 'prom-client';
   * import { createGateway } from 'sluice';
   *
   * const gateway = await createGateway('sluice.yaml', { registry: register });
   * ```
   */
  readonly registry?: Registry | Registry<OpenMetricsContentType>;
  /**
   * The time, for tests.
   *
   * @defaultValue the clock of the system
   * @example
   * ```ts
   * import { createGateway } from 'sluice';
   *
   * let now_ms = 0;
   * const clock = { epoch_ms: () => now_ms, elapsed_ms: () => now_ms };
   * const gateway = await createGateway('sluice.yaml', { clock });
   * now_ms += 60_000; // a minute later, limits per minute are free again
   * ```
   */
  readonly clock?: Clock;
  /**
   * Counters and concurrency in place of `stores.state`, to share them between gateways of one process. Stays open when they close.
   *
   * @defaultValue the store that `stores.state` describes
   * @example
   * ```ts
   * import { createGateway, MemoryStateStore } from 'sluice';
   *
   * const state = new MemoryStateStore();
   * const [one, other] = await Promise.all(['one.yaml', 'other.yaml'].map(file => createGateway(file, { state })));
   * ```
   */
  readonly state?: StateStore;
  /**
   * The application's pool of Postgres connections, in place of `stores.records`: accounts, keys and the ledger are kept in its database, in
   * a schema `sluice` that is created there. The pool keeps its settings, and stays open when the gateway closes.
   *
   * @defaultValue the store that `stores.records` describes
   * @example
   * ```ts
   * import pg from 'pg';
   * import { createGateway } from 'sluice';
   *
   * const records = new pg.Pool({ connectionString: process.env.DATABASE_URL });
   * const gateway = await createGateway('sluice.yaml', { records });
   * ```
   */
  readonly records?: PostgresPool;
  /**
   * Says whose request it is, where the application has authenticated its user already: the id of an account of the configuration or the
   * records store, or the account itself, `{ id, plan, limits }`. A key that is sent as well is ignored then. For `undefined` the stage `auth`
   * asks for a key. Called by `auth` before the body is read; a promise has 10 seconds. A GatewayError that is thrown goes to the client.
   * `gateway.portal` shows the account that it names.
   *
   * @defaultValue none: every request needs a key
   * @example
   * ```ts
   * import type { Request } from 'express';
   * import { createGateway } from 'sluice';
   *
   * type AppRequest = Request & { user?: { team: string } };
   * const gateway = await createGateway('sluice.yaml', { accountOf: (request: AppRequest) => request.user?.team });
   * ```
   */
  readonly accountOf?: AccountOf<R> | undefined;
  /**
   * For `gateway.dashboard` behind the parent application's own authentication: returns the operator's name for the audit log, or
   * `{ name, role }` for one who may not do everything, or `undefined` to deny access.
   *
   * @defaultValue none: the dashboard has its own sign-in, for `admin.users`
   * @example
   * ```ts
   * import type { Request } from 'express';
   * import { createGateway } from 'sluice';
   *
   * type AppRequest = Request & { user?: { email: string } };
   * const gateway = await createGateway('sluice.yaml', { operatorOf: (request: AppRequest) => request.user?.email });
   * ```
   */
  readonly operatorOf?: OperatorOf<R> | undefined;
  /**
   * Returns the URL for clients, for the dashboard's code samples, if `server.public_url` is not set; `undefined` while it is unknown.
   *
   * @defaultValue `server.public_url` of the configuration
   * @example
   * ```ts
   * import { createGateway } from 'sluice';
   *
   * const gateway = await createGateway('sluice.yaml', { publicUrl: () => process.env.PUBLIC_URL });
   * ```
   */
  readonly publicUrl?: () => string | undefined;
}

const schema = z.strictObject({
  stages: z.array(z.unknown(), "must be a list of stages, such as ['auth', myStage()]").optional(),
  dialects: z.array(z.unknown(), "must be a list of dialects, such as [myFormat, './other.ts']").optional(),
  adapters: z.array(z.unknown(), "must be a list of adapters, such as [myServer, './other.ts']").optional(),
  extensions: z
    .array(z.unknown(), "must be a list of extensions, such as [myPages, './other.ts']")
    .optional(),
  stores: z.array(z.unknown(), "must be a list of stores, such as [myStore, './other.ts']").optional(),
  terminal: z.boolean('must be true or false').optional(),
  ...surroundings,
  records: withMethods<PostgresPool>('a pool of Postgres connections, such as new pg.Pool() gives', [
    'connect',
  ]).optional(),
  operatorOf: aFunction<OperatorOf>(
    'it gets the request, and returns the name of the operator, { name, role }, or undefined',
  ).optional(),
  publicUrl: aFunction('it returns the address at which clients reach the gateway, or undefined').optional(),
});

/** Throws a ConfigError if options of `createGateway` are unknown or invalid; `caller` is named in it. */
export function checkGatewayOptions(options: unknown, caller: string): void {
  checkedBy(caller, schema, options);
}
