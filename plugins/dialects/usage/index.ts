import { z } from 'zod';
import {
  type CatalogAnswer,
  type DialectGateway,
  defineDialect,
  dialectGateway,
  type Exchange,
  GatewayError,
  openAiErrorBody,
} from '../../../src/plugin.ts';
import { AccountPace } from './account-pace.ts';
import { usageAnswer } from './usage-answer.ts';

const schema = z.strictObject({
  enabled: z
    .boolean()
    .default(false)
    .describe(
      'Offer `GET /v1/usage` and `GET /v1/limits`, where customers see what their own account has used and what is left of its limits; otherwise they are unknown paths.',
    ),
});

/** What customers see of their own account, by the key with which they ask for anything else. */
export const usage = defineDialect({
  name: 'usage',
  paths: { '/v1/usage': ['GET'], '/v1/limits': ['GET'] },
  uncounted: true,
  errorBody: openAiErrorBody,
  options: { section: 'usage_api', schema },
  create(_options, { get }) {
    const gateway = get?.(dialectGateway);
    const pace = new AccountPace();
    return {
      async answer(_headers, path, exchange) {
        const { account } = exchange;
        if (!gateway || !account) throw noAccount();
        pace.admit(account.id, gateway.clock.epoch_ms());
        const body = path === '/v1/limits' ? limitsAnswer : usageAnswer;
        return json(await body(gateway, account, queryOf(exchange)).catch(unreadable));
      },
    };
  },
});

/** Where no stage asks for a key, nobody has an account. */
const noAccount = (): GatewayError =>
  new GatewayError('permission_error', 403, 'This request belongs to no account.');

/** 503 while a store does not answer. */
function unreadable(cause: unknown): never {
  if (GatewayError.is(cause) && cause.status < 500) throw cause;
  const message = 'Usage cannot be read at the moment. Retry the request.';
  throw new GatewayError('server_error', 503, message, { headers: { 'retry-after': '1' }, cause });
}

async function limitsAnswer(gateway: DialectGateway, account: NonNullable<Exchange['account']>) {
  return { object: 'list', data: await gateway.limitsOf(account) };
}

function queryOf({ incoming: { url = '' } }: Exchange): URLSearchParams {
  const at = url.indexOf('?');
  return new URLSearchParams(at === -1 ? '' : url.slice(at));
}

const json = (body: object): CatalogAnswer => ({
  status: 200,
  headers: { 'cache-control': 'no-store' },
  body: JSON.stringify(body),
});
