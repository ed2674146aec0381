import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { z } from 'zod';
import type { Route } from '../../../../plugins/admin-api/route.ts';
import { routes } from '../../../../plugins/admin-api/routes/index.ts';
import { operatorRoles } from '../../../../src/plugin.ts';
import { adminKeyOf, askAdminApi } from '../../../support/admin-api-client.ts';
import { type AdminApiHere, adminApiHere } from '../../../support/admin-api-here.ts';
import { valuesOf } from '../../../support/json-schema-values.ts';

/** Who may use what: a route that is not here fails, so that nobody gets more by an oversight. */
const allowed: Readonly<Record<string, string>> = {
  'GET /accounts': 'admin operator viewer',
  'GET /accounts/{account}': 'admin operator viewer',
  'POST /accounts': 'admin operator',
  'PATCH /accounts/{account}': 'admin operator',
  'POST /accounts/{account}/disable': 'admin operator',
  'POST /accounts/{account}/enable': 'admin operator',
  'POST /accounts/{account}/credit': 'admin',
  'GET /keys': 'admin operator viewer',
  'GET /keys/{key}': 'admin operator viewer',
  'POST /keys': 'admin operator',
  'PATCH /keys/{key}': 'admin operator',
  'POST /keys/{key}/rotate': 'admin operator',
  'POST /keys/{key}/revoke': 'admin operator',
  'GET /usage': 'admin operator viewer',
  'GET /accounts/{account}/limits': 'admin operator viewer',
  'GET /keys/{key}/limits': 'admin operator viewer',
  'GET /accounts/{account}/statements/{month}': 'admin viewer',
  'GET /statements/{month}': 'admin viewer',
  'GET /requests': 'admin operator viewer',
  'GET /requests/{request_id}': 'admin operator viewer',
  'GET /models': 'admin operator viewer',
  'GET /providers': 'admin operator viewer',
  'GET /providers/{provider}': 'admin operator viewer',
  'GET /providers/{provider}/control': 'admin operator viewer',
  'PUT /providers/{provider}/control': 'admin operator',
  'DELETE /providers/{provider}/control': 'admin operator',
  'POST /reload': 'admin',
  'GET /notices': 'admin viewer',
  'POST /notices/test': 'admin',
  'GET /admin-keys': 'admin',
  'GET /admin-keys/{admin_key}': 'admin',
  'POST /admin-keys': 'admin',
  'POST /admin-keys/{admin_key}/revoke': 'admin',
  'GET /audit': 'admin viewer',
  'GET /openapi.json': 'admin operator viewer',
};

let here: AdminApiHere;
/** Ids of records that are there, for parameters of paths. */
let ids: readonly string[];

beforeAll(async () => {
  here = await adminApiHere({ plans: { free: { requests_per_minute: 5 } } });
  await here.gateway.accounts.create({ id: 'acme', plan: 'free' });
  const { record } = await here.gateway.keys.create({ account: 'acme' });
  const body = { name: 'robot', role: 'viewer' };
  const made = await askAdminApi(here.adminUrl, 'POST /admin-keys', { body });
  ids = ['acme', 'tester', record.id, made.body.id, 'nobody', '2026-11'];
});
afterAll(() => here.close());

const shown = ({ method, path }: Route) => `${method} ${path}`;

describe('the routes of the Admin API', () => {
  it.each(routes.map(route => [shown(route), route] as const))(
    'admit to %s whom they are for',
    async (name, route) => {
      const admitted: string[] = [];
      for (const role of operatorRoles) {
        const request = name.replaceAll(/\{\w+\}/g, 'nobody');
        const body = route.body && {};
        const answer = await askAdminApi(here.adminUrl, request, { key: adminKeyOf(role), body });
        expect([401, 500, 501, 502]).not.toContain(answer.status);
        if (answer.status !== 403) admitted.push(role);
      }
      expect(admitted.join(' ')).toBe(allowed[name]);
    },
  );

  it('are all in the table of who may use them, each with another name', () => {
    expect(Object.keys(allowed).toSorted()).toEqual(routes.map(shown).toSorted());
    expect(new Set(routes.map(({ name }) => name)).size).toBe(routes.length);
  });

  it('take no change without its permission', () => {
    const changing = routes.filter(({ method }) => method !== 'GET');
    expect(changing.filter(({ permission }) => !['change', 'administer'].includes(permission))).toEqual([]);
  });

  it.each(routes.map(route => [shown(route), route] as const))(
    'answer as their schemas say, whatever is sent to %s',
    async (name, route) => {
      await fc.assert(
        fc.asyncProperty(requestsTo(route), async ({ params, query, body, role }) => {
          const path = name.replaceAll(/\{(\w+)\}/g, (_, part: string) => encodeURIComponent(params[part]!));
          const request = `${path}${query === '' ? '' : `?${query}`}`;
          const answer = await askAdminApi(here.adminUrl, request, { key: adminKeyOf(role), body });
          const schema = answer.status === route.status ? route.reply : errorSchema;
          expect(answer.status).toBeLessThan(500);
          expect(schema.parse(answer.body)).toEqual(answer.body);
        }),
        { numRuns: isAlwaysTheSame(route) ? 2 * operatorRoles.length : 30 },
      );
    },
  );
});

const errorSchema = z.strictObject({
  error: z.strictObject({
    message: z.string(),
    type: z.string(),
    param: z.string().nullable(),
    code: z.string(),
  }),
});

const input = (schema: z.ZodType) => z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });

/** Whether requests to the route differ by who sends them, and by nothing else. */
const isAlwaysTheSame = ({ params, query, body }: Route): boolean =>
  Object.keys({ ...params.shape, ...query.shape }).length === 0 && !body;

/** Requests to a route: some as its schemas say, some nearly. */
function requestsTo(route: Route) {
  const params = Object.keys(route.params.shape).map(name => [
    name,
    fc.oneof(fc.constantFrom(...ids), fc.string({ minLength: 1, maxLength: 12 })),
  ]);
  const query = valuesOf(input(route.query)).map(given =>
    new URLSearchParams(
      Object.entries(Object(given)).map(([name, value]): [string, string] => [
        name,
        typeof value === 'string' ? value : JSON.stringify(value),
      ]),
    ).toString(),
  );
  return fc.record({
    params: fc.record(Object.fromEntries(params) as Record<string, fc.Arbitrary<string>>),
    query: Object.keys(route.query.shape).length > 0 ? query : fc.constant(''),
    body: route.body ? valuesOf(input(route.body)) : fc.constant(undefined),
    role: fc.constantFrom(...operatorRoles),
  });
}
