import { describe, expect, it } from '@jest/globals';
import { auth } from '../../../../../plugins/stages/auth/index.ts';
import type { Account } from '../../../../../src/gateway/accounts/accounts.ts';
import { sampleExchange } from '../../../sample-exchange.ts';
import { sampleSetup } from '../../../sample-setup.ts';

const setup = sampleSetup([], { demo: { plan: 'free', keys: [{ value: 'sk-demo-1' }] } });

async function accountOf(
  headers: Record<string, string>,
  options = {},
  from = setup,
): Promise<Account | undefined> {
  const exchange = sampleExchange({ start: { headers } });
  await auth(options).plan.create(from).onHeaders!(exchange);
  return exchange.account;
}

describe('the API key of a request', () => {
  it.each([
    'Bearer sk-demo-1',
    'Api-Key sk-demo-1',
    'bearer sk-demo-1',
    'API-KEY sk-demo-1',
    'BEARER    sk-demo-1',
    ' Bearer sk-demo-1 ',
  ])('is read from %j', async authorization => {
    expect(await accountOf({ authorization })).toEqual({ id: 'demo', plan: 'free' });
  });

  it('is read from x-api-key where that is allowed, after the Authorization header', async () => {
    const bare = { 'x-api-key': 'sk-demo-1' };
    expect(await accountOf(bare, { x_api_key: true })).toMatchObject({ id: 'demo' });
    await expect(accountOf(bare)).rejects.toMatchObject({ code: 'missing_api_key' });
    await expect(
      accountOf({ ...bare, authorization: 'Bearer wrong' }, { x_api_key: true }),
    ).rejects.toMatchObject({
      code: 'invalid_api_key',
    });
  });

  it('is looked up in the accounts of the stage when it has some', async () => {
    const accounts = { mine: { keys: [{ value: 'sk-mine-1' }] } };
    expect(await accountOf({ authorization: 'Bearer sk-mine-1' }, { accounts })).toMatchObject({
      id: 'mine',
    });
    await expect(accountOf({ authorization: 'Bearer sk-demo-1' }, { accounts })).rejects.toMatchObject({
      status: 401,
    });
  });

  it('is looked up in an asynchronous directory', async () => {
    const find = async (key: string) => (key === 'late' ? { id: 'late', plan: undefined } : undefined);
    const slow = { ...setup, accounts: { find, findById: find } };
    expect(await accountOf({ authorization: 'Bearer late' }, {}, slow)).toMatchObject({ id: 'late' });
    await expect(accountOf({ authorization: 'Bearer other' }, {}, slow)).rejects.toMatchObject({
      code: 'invalid_api_key',
    });
  });
});

describe('the authentication stage', () => {
  it.each([
    undefined,
    '',
    'Bearer',
    'Bearer ',
    'Bearersk-demo-1',
    'Basic sk-demo-1',
    'sk-demo-1',
    'Bearer a b',
    'Token sk-demo-1',
    'Bearer sk-demo-1, Bearer x',
    'Bearer sk-demo-1,',
    'Bearer sk-demo-1 x',
    'xBearer sk-demo-1',
    'Basic Bearer sk-demo-1',
    'Bearer,sk-demo-1',
    'Bearer\tsk-demo-1',
  ])('rejects %j as a missing key', async authorization => {
    const headers = authorization === undefined ? {} : { authorization };
    await expect(accountOf(headers as Record<string, string>)).rejects.toMatchObject({
      status: 401,
      type: 'authentication_error',
      message:
        "Missing API key. Send 'Authorization: Bearer <API_KEY>' or 'Authorization: Api-Key <API_KEY>'.",
      headers: { 'www-authenticate': 'Bearer realm="api", Api-Key realm="api"' },
    });
  });

  it.each(['Bearer sk-demo-2', 'Bearer SK-DEMO-1', 'Api-Key demo', 'Bearer __proto__'])(
    'rejects %j as an invalid key',
    async authorization => {
      await expect(accountOf({ authorization })).rejects.toMatchObject({
        status: 401,
        type: 'authentication_error',
        message: 'Invalid API key.',
        headers: { 'www-authenticate': 'Bearer realm="api", error="invalid_token"' },
      });
    },
  );
});

describe('a public endpoint', () => {
  it('is served without a look at the Authorization header', () => {
    const endpoint = { name: 'models' as const, public: true };
    const exchange = sampleExchange({ start: { endpoint, headers: { authorization: 'Bearer wrong' } } });
    auth().plan.create(setup).onHeaders!(exchange);
    expect(exchange.account).toBeUndefined();
  });
});
