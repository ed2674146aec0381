import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { operatorRoles } from '../../src/plugin.ts';
import { type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';

const keyOf = (role: string) => `${role}-key-of-the-admin-api-0123456789`;
const keys = operatorRoles.map(role => ({ name: role, role, value: keyOf(role) }));
let gateway: GatewayUnderTest;

beforeAll(async () => {
  gateway = await startGateway({
    upstream: 'http://127.0.0.1:9',
    config: { admin_api: { enabled: true, keys } },
  });
});
afterAll(() => gateway.close());

const get = (path: string, key?: string) =>
  fetch(`${gateway.adminUrl}/admin-api/v1${path}`, {
    headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
  });

describe('the Admin API', () => {
  it('is not there unless it is enabled', async () => {
    const other = await startGateway({ upstream: 'http://127.0.0.1:9', config: { admin_api: { keys } } });
    const headers = { authorization: `Bearer ${keyOf('admin')}` };
    expect((await fetch(`${other.adminUrl}/admin-api/v1/accounts`, { headers })).status).toBe(404);
    await other.close();
  });

  it('lists accounts for those who have a key, and refuses all others in one form', async () => {
    expect(await (await get('/accounts', keyOf('viewer'))).json()).toEqual({
      object: 'list',
      data: [],
      first_id: null,
      last_id: null,
      has_more: false,
    });
    for (const [path, key] of [
      ['/accounts', 'wrong'],
      ['/nowhere', 'wrong'],
    ] as const) {
      const refused = await get(path, key);
      expect(refused.status).toBe(401);
      expect(await refused.json()).toEqual({
        error: {
          message: 'Invalid key.',
          type: 'authentication_error',
          param: null,
          code: 'invalid_api_key',
        },
      });
    }
    expect((await get('/accounts')).status).toBe(401);
    expect((await get('/nowhere', keyOf('admin'))).status).toBe(404);
  });
});
