import type { IncomingMessage } from 'node:http';
import type { Registry } from 'prom-client';
import { z } from 'zod';
import { surroundings } from './chain/surroundings.ts';
import type { Clock } from './clock.ts';
import { checkedBy } from './diagnostics/config-error.ts';
import { aFunction, withMethods } from './diagnostics/methods.ts';
import type { StateStore } from './stores/limits/state-store.ts';
import type { Logger } from './telemetry/logger.ts';

/** Options that the application passes in code, beside the configuration. */
export interface GatewayOptions {
  /** Answer 404 for every unknown path, instead of calling `next`. */
  readonly terminal?: boolean;
  readonly log?: Logger;
  /** Registry of the metrics; by default one of the gateway's own. */
  readonly registry?: Registry;
  readonly clock?: Clock;
  /** Counters and concurrency in place of `stores.state`, to share them between gateways of one process; stays open when they close. */
  readonly state?: StateStore;
  /**
   * For `gateway.dashboard` behind the parent application's own authentication: returns the operator's name for the audit log, or
   * `undefined` to deny access. By default the dashboard has its own login, for `admin.users`.
   */
  readonly operatorOf?: (request: IncomingMessage) => string | undefined;
  /** Returns the URL for clients, once known, if `server.public_url` is not set; for the dashboard's code samples. */
  readonly publicUrl?: () => string | undefined;
}

const schema = z.strictObject({
  terminal: z.boolean('must be true or false').optional(),
  ...surroundings,
  clock: withMethods<Clock>('a clock', ['epoch_ms', 'elapsed_ms']).optional(),
  operatorOf: aFunction('it gets the request, and returns the name of the operator or undefined').optional(),
  publicUrl: aFunction('it returns the address at which clients reach the gateway, or undefined').optional(),
});

/** Throws a ConfigError if options of `createGateway` are unknown or invalid; `caller` is named in it. */
export function checkGatewayOptions(options: unknown, caller: string): void {
  checkedBy(caller, schema, options);
}
