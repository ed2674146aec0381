// Written from the stage's schema by `npm run docs`.

import type { AccountOptions } from '../../../src/plugin.ts';

/** Options of the stage `auth`. */
export interface AuthOptions {
  /** Accounts with their keys, in place of the gateway's own `accounts`; for use of this stage alone. */
  accounts?: Record<string, AccountOptions> | undefined;
  /**
   * Accept the key in an `x-api-key` header as well. At `/v1/messages` it always is.
   *
   * @defaultValue `false`
   */
  x_api_key?: boolean | undefined;
}
