import type { IncomingMessage } from 'node:http';
import type { Registry } from 'prom-client';
import { z } from 'zod';
import type { AccountOf } from './chain/application-accounts.ts';
import { surroundings } from './chain/surroundings.ts';
import type { Clock } from './clock.ts';
import type { StageEntry } from './config/given-plugins.ts';
import { checkedBy } from './diagnostics/config-error.ts';
import { aFunction, withMethods } from './diagnostics/methods.ts';
import type { StateStore } from './stores/limits/state-store.ts';
import type { Logger } from './telemetry/logger.ts';
import type { AnyProviderDefinition } from './upstream/adapter.ts';

/** Says which operator a request is from, by the application's own sign-in; `undefined` denies access. */
export type OperatorOf<R extends IncomingMessage = IncomingMessage> = (
  request: R,
) => string | undefined | PromiseLike<string | undefined>;

/** Options that the application passes in code, beside the configuration. `R` is the application's own request, such as Express's. */
export interface GatewayOptions<R extends IncomingMessage = IncomingMessage> {
  /**
   * The chain in order, in place of `stages` of the configuration: names of built-in stages, paths and packages, each alone or with options,
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
   * const stages = ['error-envelope', 'auth', { validation: { unknown_parameters: 'ignore' } }, greeting({ text: 'Hello' })];
   * const gateway = await createGateway('sluice.yaml', { stages });
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
  /** Answer 404 for every unknown path, instead of calling `next`. */
  readonly terminal?: boolean;
  readonly log?: Logger;
  /** Registry of the metrics; by default one of the gateway's own. */
  readonly registry?: Registry;
  readonly clock?: Clock;
  /** Counters and concurrency in place of `stores.state`, to share them between gateways of one process; stays open when they close. */
  readonly state?: StateStore;
  /**
   * Says whose request it is, where the application has authenticated its user already: the id of an account of the configuration or the
   * records store, or the account itself, `{ id, plan, limits }`. A key that is sent as well is ignored then. For `undefined` the stage `auth`
   * asks for a key. Called by `auth` before the body is read; a promise has 10 seconds. A GatewayError that is thrown goes to the client.
   *
   * @defaultValue none: every request needs a key
   * @example
   * createGateway('sluice.yaml', { accountOf: (request: Request) => request.session.user?.team });
   */
  readonly accountOf?: AccountOf<R> | undefined;
  /**
   * For `gateway.dashboard` behind the parent application's own authentication: returns the operator's name for the audit log, or
   * `undefined` to deny access.
   *
   * @defaultValue none: the dashboard has its own sign-in, for `admin.users`
   * @example
   * createGateway('sluice.yaml', { operatorOf: (request: Request) => request.user?.email });
   */
  readonly operatorOf?: OperatorOf<R> | undefined;
  /** Returns the URL for clients, once known, if `server.public_url` is not set; for the dashboard's code samples. */
  readonly publicUrl?: () => string | undefined;
}

const schema = z.strictObject({
  stages: z.array(z.unknown(), "must be a list of stages, such as ['auth', myStage()]").optional(),
  adapters: z.array(z.unknown(), "must be a list of adapters, such as [myServer, './other.ts']").optional(),
  terminal: z.boolean('must be true or false').optional(),
  ...surroundings,
  clock: withMethods<Clock>('a clock', ['epoch_ms', 'elapsed_ms']).optional(),
  operatorOf: aFunction<OperatorOf>(
    'it gets the request, and returns the name of the operator or undefined',
  ).optional(),
  publicUrl: aFunction('it returns the address at which clients reach the gateway, or undefined').optional(),
});

/** Throws a ConfigError if options of `createGateway` are unknown or invalid; `caller` is named in it. */
export function checkGatewayOptions(options: unknown, caller: string): void {
  checkedBy(caller, schema, options);
}
