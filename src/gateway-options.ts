import type { IncomingMessage } from 'node:http';
import type { Registry } from 'prom-client';
import { z } from 'zod';
import { surroundings } from './chain/surroundings.ts';
import type { Clock } from './clock.ts';
import { ConfigError, issuesOf } from './diagnostics/config-error.ts';
import { aFunction, withMethods } from './diagnostics/methods.ts';
import type { StateStore } from './stores/limits/state-store.ts';
import type { Log } from './telemetry/log.ts';

/** What the surroundings of a gateway may bring along. */
export interface GatewayOptions {
  /** Answer 404 for every path that is not offered, instead of leaving it to the parent application. */
  readonly terminal?: boolean;
  readonly log?: Log;
  /** Where metrics are registered; a registry of its own without it. */
  readonly registry?: Registry;
  readonly clock?: Clock;
  /** Counters and concurrency in place of `stores.state`, for several gateways of one process; stays open when they close. */
  readonly state?: StateStore;
  /**
   * For `gateway.dashboard` behind the parent application's own authentication: who has been let in there, by name for the audit log;
   * `undefined` refuses the request. Without it the dashboard has its own sign-in, for `admin.users`.
   */
  readonly operatorOf?: (request: IncomingMessage) => string | undefined;
  /** Where clients reach the gateway, once that is known, if `server.public_url` does not say it: for the examples that the dashboard shows. */
  readonly publicUrl?: () => string | undefined;
}

const schema = z.strictObject({
  terminal: z.boolean('must be true or false').optional(),
  ...surroundings,
  clock: withMethods<Clock>('a clock', ['epoch_ms', 'elapsed_ms']).optional(),
  operatorOf: aFunction('it gets the request, and returns the name of the operator or undefined').optional(),
  publicUrl: aFunction('it returns the address at which clients reach the gateway, or undefined').optional(),
});

/** Throws a ConfigError for options of `createGateway` that are unknown or not what they have to be; `caller` is named in it. */
export function checkGatewayOptions(options: unknown, caller: string): void {
  const checked = schema.safeParse(options);
  if (!checked.success) throw new ConfigError(caller, issuesOf(checked.error, schema, options));
}
