import { z } from 'zod';
import {
  type Account,
  accountsSchema,
  ConfiguredAccounts,
  catalogReader,
  defineStage,
  type Exchange,
  type GatewayError,
  refusal,
  type StageFactory,
} from '../../../src/plugin.ts';
import type { AuthOptions } from './options.ts';

const schema = z.strictObject({
  accounts: accountsSchema
    .optional()
    .describe(
      "Accounts with their keys, in place of the gateway's own `accounts`; for use of this stage alone.",
    ),
  x_api_key: z
    .boolean()
    .default(false)
    .describe('Accept the key in an `x-api-key` header as well. At `/v1/messages` it always is.'),
});

/** Scheme in any case, spaces, one token; anything else is a malformed header. */
const credentials = /^(?:bearer|api-key) +([^\s,]+)$/i;

/** Finds the account that the application names, or else that of the key, and refuses all other requests before a byte of the body is read. */
export const auth: StageFactory<AuthOptions> = defineStage({
  name: 'auth',
  authenticates: true,
  schema,
  create({ accounts: own, x_api_key }, setup) {
    const accounts = own ? new ConfiguredAccounts(own) : setup.accounts;
    // The catalog needs no key: with one that cannot be used it is shown as without.
    const noteReader = async (exchange: Exchange, key: string): Promise<void> => {
      try {
        const account = await accounts.find(key);
        if (account) exchange.set(catalogReader, account);
      } catch {}
    };
    const admitByKey = (exchange: Exchange): void | Promise<void> => {
      const { headers, endpoint } = exchange;
      const bareHeader = endpoint.headers?.key ?? (x_api_key ? 'x-api-key' : undefined);
      const bare = bareHeader && headers[bareHeader];
      const key =
        credentials.exec(headers.authorization?.trim() ?? '')?.[1] ??
        (typeof bare === 'string' && bare !== '' ? bare : undefined);
      if (endpoint.public) return key === undefined ? undefined : noteReader(exchange, key);
      if (key === undefined) throw missingKey(endpoint);
      const found = accounts.find(key);
      if (found instanceof Promise) return found.then(account => admit(exchange, account));
      admit(exchange, found);
    };
    const admitNamed = (exchange: Exchange, named: Account | undefined) =>
      named ? exchange.authenticate(named) : admitByKey(exchange);
    return {
      // Synchronous if the application and the directory are, since this runs for every request.
      onHeaders(exchange) {
        const { endpoint } = exchange;
        if (endpoint.public) return endpoint.name === 'models' ? admitByKey(exchange) : undefined;
        if (!setup.accountOf) return admitByKey(exchange);
        const named = setup.accountOf(exchange, accounts);
        if (named instanceof Promise) return named.then(account => admitNamed(exchange, account));
        return admitNamed(exchange, named);
      },
    };
  },
});

/** Names the header of the endpoint's own clients first. */
function missingKey({ headers }: Exchange['endpoint']): GatewayError {
  if (headers?.key === undefined) return refusal('missing_api_key');
  return refusal('missing_api_key', {
    message: `Missing API key. Send '${headers.key}: <API_KEY>' or 'Authorization: Bearer <API_KEY>'.`,
  });
}

function admit(exchange: Exchange, account: Account | undefined): void {
  if (!account) throw refusal('invalid_api_key');
  exchange.authenticate(account);
}
