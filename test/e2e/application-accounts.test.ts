import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Express, Request } from 'express';
import { z } from 'zod';
import type { GatewayConfig } from '../../src/config/schema.ts';
import {
  type AccountOf,
  auth,
  type ChainOptions,
  createChain,
  errorEnvelope,
  GatewayError,
  type GatewayOptions,
  rateLimit,
} from '../../src/index.ts';
import { defineStage, refusal } from '../../src/plugin.ts';
import { type CapturedLog, capturedLog } from '../support/captured-log.ts';
import { DashboardVisitor } from '../support/dashboard-visitor.ts';
import { startApp } from '../support/express-app.ts';
import { ask, clientKey } from '../support/gateway-under-test.ts';
import { completion } from '../support/hostile-setting.ts';
import { closeMounted, mountable } from '../support/mounted-gateway.ts';
import { type RecordsPlace, recordsPlace } from '../support/records-place.ts';
import { type ScriptedUpstream, startScriptedUpstream, whole } from '../support/scripted-upstream.ts';
import { until } from '../support/until.ts';

/** A request of the application, which knows its users by a cookie. */
type AppRequest = Request & { user?: { team: string; paid: boolean } };

const users: Readonly<Record<string, AppRequest['user']>> = {
  ada: { team: 'acme', paid: true },
  bob: { team: 'tester', paid: false },
};

/** The application's own sign-in. */
function signIn(app: Express): void {
  app.use((request: AppRequest, _response, next) => {
    const user = users[/user=(\w+)/.exec(request.headers.cookie ?? '')?.[1] ?? ''];
    if (user) request.user = user;
    next();
  });
}

const plans = { small: { requests_per_minute: 2 }, large: { requests_per_minute: 1000 } };
let upstream: ScriptedUpstream;

beforeAll(async () => {
  upstream = await startScriptedUpstream(whole(200, completion('Hello.')));
});
afterAll(() => upstream.close());
afterEach(closeMounted);

/** An application with a sign-in, a gateway behind it, and its dashboard for everybody who has signed in. */
async function started(
  accountOf: AccountOf<AppRequest> | undefined,
  sections: Partial<GatewayConfig> = {},
  options: GatewayOptions<AppRequest> = {},
) {
  const log: CapturedLog = capturedLog();
  const gateway = await mountable(upstream, { plans, ...sections }, {
    log: log.log,
    accountOf,
    operatorOf: async ({ user }: AppRequest) => user?.team,
    ...options,
  } as GatewayOptions);
  const { url } = await startApp(app => {
    signIn(app);
    app.use('/ops', gateway.dashboard);
    app.use(gateway);
  });
  const send = (headers: Record<string, string> = {}, path = '/v1/chat/completions') =>
    fetch(`${url}${path}`, {
      ...(path.endsWith('completions') && { method: 'POST', body: JSON.stringify(ask('Hello')) }),
      headers: { 'content-type': 'application/json', ...headers },
    });
  const statusOf = async (headers?: Record<string, string>, path?: string) => {
    const response = await send(headers, path);
    await response.arrayBuffer();
    return response.status;
  };
  const dashboard = new DashboardVisitor(`${url}/ops/`);
  dashboard.cookies.set('user', 'ada');
  return { gateway, url, send, statusOf, dashboard, lines: log.lines };
}

const ada = { cookie: 'user=ada' };
const bob = { cookie: 'user=bob' };
const key = { authorization: `Bearer ${clientKey}` };
/** The account and status of the exchanges that the log has. */
const settled = (lines: CapturedLog['lines']) =>
  lines.filter(({ end_reason }) => end_reason).map(({ account, status }) => [account, status]);

describe('an application that says whose request it is', () => {
  it('names an account of the configuration, and no key is needed', async () => {
    const { statusOf, lines } = await started(({ user }) => user?.team, {
      accounts: { acme: { plan: 'small' } },
      metrics: { account_label: true },
    });
    expect(await statusOf(ada)).toBe(200);
    expect(await statusOf(ada)).toBe(200);
    expect(await statusOf(ada)).toBe(429);
    expect(settled(lines)).toEqual([
      ['acme', 200],
      ['acme', 200],
      ['acme', 429],
    ]);
    expect(lines.filter(({ level }) => level >= 40)).toEqual([]);
  });

  it('has requests of nobody decided by their key', async () => {
    const { statusOf, send, lines } = await started(({ user }) => user?.team);
    expect(await statusOf()).toBe(401);
    expect(await (await send()).json()).toMatchObject({ error: { type: 'authentication_error' } });
    expect(await statusOf({ authorization: 'Bearer sk-unknown-0000000' })).toBe(401);
    expect(await statusOf(key)).toBe(200);
    expect(settled(lines).at(-1)).toEqual(['tester', 200]);
  });

  it('overrules a key that is sent as well, valid or not', async () => {
    const { statusOf, lines } = await started(({ user }) => user && { id: user.team, plan: 'large' });
    expect(await statusOf({ ...ada, ...key })).toBe(200);
    expect(await statusOf({ ...ada, authorization: 'Bearer nonsense' })).toBe(200);
    expect(settled(lines)).toEqual([
      ['acme', 200],
      ['acme', 200],
    ]);
  });

  it('is not asked for endpoints that need no account', async () => {
    let calls = 0;
    const { statusOf } = await started(() => {
      calls++;
      return undefined;
    });
    expect(await statusOf({}, '/v1/models')).toBe(200);
    expect(calls).toBe(0);
  });
});

describe('an account that the application keeps itself', () => {
  it('is limited by its plan under its id, whatever object names it', async () => {
    const { statusOf } = await started(async ({ user }) => {
      await sleep(1);
      return user && { id: user.team, plan: user.paid ? 'large' : 'small' };
    });
    for (const status of [200, 200, 429]) expect(await statusOf(bob)).toBe(status);
    for (const status of [200, 200, 200]) expect(await statusOf(ada)).toBe(status);
  });

  it('may replace and lift limits of its plan', async () => {
    const { statusOf } = await started(({ user }) => ({
      id: user?.team ?? 'guests',
      plan: 'small',
      limits: { requests_per_minute: user?.paid ? null : 1 },
    }));
    for (const status of [200, 429]) expect(await statusOf()).toBe(status);
    for (const status of [200, 200, 200]) expect(await statusOf(ada)).toBe(status);
  });

  it('shows in the ledger, in the metrics and in the dashboard', async () => {
    const { statusOf, dashboard, gateway } = await started(
      ({ user }) => user && { id: `${user.team}/v2 & <co>`, plan: 'large' },
      { metrics: { account_label: true } },
    );
    expect(await statusOf(ada)).toBe(200);
    expect(await gateway.registry.metrics()).toContain(
      'sluice_account_requests_total{account="acme/v2 & <co>",status="200"} 1',
    );
    await until(async () =>
      (await dashboard.get('usage?by=account')).text.includes('acme/v2 &amp; &lt;co&gt;'),
    );
    const page = `account?id=${encodeURIComponent('acme/v2 & <co>')}`;
    const { status, text } = await dashboard.get(page);
    expect([status, text]).toEqual([200, expect.stringContaining('the application, which named it')]);
    expect(text).toMatch(/Requests per minute|requests per minute|requests_per_minute/);
    expect(text).not.toContain('Issue a key');
    // For the token of its form.
    await dashboard.get('accounts');
    expect((await dashboard.post(page, { plan: 'small' })).text).toContain('changed in the application.');
    const issued = await dashboard.post(page.replace('account?id', 'keys?account'), { name: 'x' });
    expect(issued.status).toBe(404);
  });
});

describe('an account of the records store', () => {
  let place: RecordsPlace;
  beforeAll(async () => {
    place = await recordsPlace();
  });
  afterAll(() => place.remove());

  it('is found by its id from the moment in which the dashboard creates it, with changes of its plan', async () => {
    const { statusOf, send, dashboard, lines } = await started(({ user }) => user?.team, {
      stores: place.stores,
    });
    const refused = await send(ada);
    expect([refused.status, await refused.json()]).toEqual([
      403,
      { error: { type: 'permission_error', message: 'This account has no access to this API.' } },
    ]);
    expect((await dashboard.submit('accounts', { id: 'acme', plan: 'small' })).status).toBe(303);
    for (const status of [200, 200, 429]) expect(await statusOf(ada)).toBe(status);
    expect((await dashboard.submit('account?id=acme', { plan: 'large' })).status).toBe(303);
    expect(await statusOf(ada)).toBe(200);
    expect((await dashboard.post('account?id=acme', { change: 'disable' })).status).toBe(303);
    const disabled = await send(ada);
    expect([disabled.status, await disabled.json()]).toEqual([
      403,
      { error: { type: 'permission_error', message: 'This account is disabled.' } },
    ]);
    await dashboard.post('account?id=acme', { change: 'enable' });
    expect(await statusOf(ada)).toBe(200);
    const warnings = lines.filter(({ level }) => level === 40).map(({ msg }) => msg);
    expect(warnings).toEqual([
      "accountOf returned 'acme', and there is no such account; create it in the dashboard or the configuration, or return { id, plan, limits }",
    ]);
  });
});

describe("an account of the application's own", () => {
  it('is listed in the dashboard, and refused while the store has a disabled one of its name', async () => {
    const { statusOf, dashboard } = await started(({ user }) => user && { id: user.team, plan: 'large' });
    const panelOf = async () =>
      (await dashboard.get('accounts')).text.split('<tr>').find(row => row.includes('From the application'));
    expect(await panelOf()).toBeUndefined();
    expect(await statusOf(ada)).toBe(200);
    expect(await panelOf()).toContain('href="account?id=acme"');
    expect((await dashboard.get('accounts?search=other')).text).not.toContain('From the application');

    await dashboard.post('accounts', { id: 'acme' });
    expect(await panelOf()).toBeUndefined();
    expect(await statusOf(ada)).toBe(200);
    await dashboard.submit('account?id=acme', { change: 'disable' });
    expect(await statusOf(ada)).toBe(403);
    await dashboard.post('account?id=acme', { change: 'enable' });
    expect(await statusOf(ada)).toBe(200);
  });
});

describe('an answer of the application that is no account', () => {
  const trial = new GatewayError('permission_error', 403, 'Your trial is over.');
  it.each<[string, () => unknown, number, string, string]>([
    [
      'nothing usable',
      () => null,
      400,
      'configuration_error',
      'This account is not available because of a server-side configuration error.',
    ],
    [
      'a rejection',
      () => Promise.reject(new Error('database is down')),
      502,
      'server_error',
      'Temporary server-side error. Retry the request.',
    ],
    ['an unknown id', () => 'nobody', 403, 'permission_error', 'This account has no access to this API.'],
    ['an error for clients', () => Promise.reject(trial), 403, 'permission_error', 'Your trial is over.'],
  ])(
    'is told to clients as the fault that it is, without what it was: %s',
    async (_, answer, status, type, message) => {
      const { send, lines } = await started(answer as never);
      const response = await send(key);
      expect([response.status, await response.json()]).toEqual([status, { error: { type, message } }]);
      const logged = lines.filter(({ level, reason }) => level >= 40 && reason === undefined);
      expect(logged).toHaveLength(message === trial.message ? 0 : 1);
    },
  );

  it('takes __proto__ of an account that the application keeps for a name like any other', async () => {
    const { statusOf } = await started(() => ({ id: '__proto__', plan: 'small' }));
    for (const status of [200, 200, 429]) expect(await statusOf()).toBe(status);
  });
});

describe('a stage of an application’s own', () => {
  const sessionAuth = defineStage({
    name: 'session-auth',
    schema: z.strictObject({}),
    authenticates: true,
    create: (_options, { accounts }) => ({
      async onHeaders(exchange) {
        if (exchange.endpoint.public) return;
        const { user } = exchange.incoming as AppRequest;
        const account = user && (await accounts.findById(user.team));
        if (!account) throw refusal('unknown_account');
        exchange.authenticate(account);
      },
    }),
  });
  const stages = ['error-envelope', sessionAuth(), 'validation', 'rate-limit'];

  it('takes the place of auth: it reads the application’s request and finds accounts by id', async () => {
    const accounts = { acme: { plan: 'small' } };
    const { statusOf } = await started(undefined, { accounts }, { stages });
    expect(await statusOf(key)).toBe(403);
    for (const status of [200, 200, 429]) expect(await statusOf(ada)).toBe(status);
    expect(await statusOf({}, '/v1/models')).toBe(200);
  });

  it('asks what accountOf says, as auth does', async () => {
    const asking = defineStage({
      name: 'asking',
      schema: z.strictObject({}),
      authenticates: true,
      create: (_options, setup) => ({
        async onHeaders(exchange) {
          const account = await setup.accountOf?.(exchange);
          if (!account) throw refusal('unknown_account');
          exchange.authenticate(account);
        },
      }),
    });
    const { statusOf } = await started(
      ({ user }) => user && { id: user.team, plan: 'small' },
      {},
      { stages: [asking(), 'rate-limit'] },
    );
    expect(await statusOf()).toBe(403);
    for (const status of [200, 200, 429]) expect(await statusOf(ada)).toBe(status);
  });
});

describe('the start of a gateway with accountOf', () => {
  const warningsOf = (lines: CapturedLog['lines']) =>
    lines.filter(({ level }) => level >= 40).map(({ msg }) => msg);

  it('warns of nothing without any key, account, or account with a plan', async () => {
    const { lines } = await started(({ user }) => user?.team, { accounts: {} });
    expect(warningsOf(lines)).toEqual([]);
    const keyless = await started(({ user }) => user?.team, { accounts: { acme: { plan: 'small' } } });
    expect(warningsOf(keyless.lines)).toEqual([]);
    const without = await started(undefined, { accounts: {} });
    expect(warningsOf(without.lines)).toContainEqual(expect.stringMatching(/^accounts: has no key, and/));
  });

  it('is refused where no stage asks it', async () => {
    const stages = ['error-envelope', 'validation'];
    const sections = { stages, accounts: {}, server: { open: true }, plans: {} } as Partial<GatewayConfig>;
    await expect(started(() => 'acme', sections)).rejects.toThrow(
      'stages: must list auth: without it the option accountOf has no effect',
    );
  });
});

describe('the dashboard’s playground of a gateway with accountOf', () => {
  it('sends requests with their key, and the application is not asked for them', async () => {
    let calls = 0;
    const { dashboard, lines } = await started(
      () => {
        calls++;
        return { id: 'everybody' };
      },
      { admin: {} } as Partial<GatewayConfig>,
    );
    await dashboard.get('playground');
    const request = JSON.stringify(ask('Hello'));
    const answered = await dashboard.post('playground-run', { request, key: clientKey });
    expect(answered.text).toContain('"status":200');
    expect((await dashboard.post('playground-run', { request, key: '' })).text).toContain('"status":401');
    expect(settled(lines)).toEqual([
      ['tester', 200],
      [undefined, 401],
    ]);
    expect(calls).toBe(0);
  });

  it('is open for nobody whom operatorOf does not name', async () => {
    let answer: unknown;
    const operatorOf = () => answer as never;
    const { dashboard } = await started(undefined, {}, { operatorOf });
    for (answer of [undefined, null, '', 7, {}, Promise.resolve(null)])
      expect((await dashboard.get('')).status).toBe(403);
    answer = Promise.reject(new Error('x'));
    expect((await dashboard.get('')).status).toBe(500);
  });
});

describe('a chain in front of a handler with accountOf', () => {
  /** An application whose handler answers itself; the chain before it knows whose request it is. */
  async function chained(accountOf: AccountOf<AppRequest>, options: ChainOptions<AppRequest> = {}, own = {}) {
    const { log, lines } = capturedLog('debug');
    const stages = [errorEnvelope(), auth(own), rateLimit()];
    const chain = createChain<AppRequest>(stages, { log, plans, accountOf, ...options });
    const { url } = await startApp(app => {
      signIn(app);
      app.use(chain);
      app.use((_request, response) => void response.send('handled'));
    });
    const statusOf = async (headers: Record<string, string>) =>
      (await fetch(`${url}/v1/embeddings`, { method: 'POST', headers })).status;
    return { statusOf, lines };
  }

  it('limits the accounts that the application names, and asks for a key otherwise', async () => {
    const { statusOf, lines } = await chained(({ user }) => user && { id: user.team, plan: 'small' }, {
      accounts: { tester: { keys: [{ value: clientKey }] } },
    });
    for (const status of [200, 200, 429]) expect(await statusOf(ada)).toBe(status);
    expect(await statusOf({})).toBe(401);
    expect(await statusOf(key)).toBe(200);
    expect(lines.filter(({ level }) => level >= 40)).toEqual([]);
  });

  it('finds ids among its accounts, or those of the stage auth', async () => {
    const accounts = { acme: { plan: 'small', keys: [] } };
    for (const [options, own] of [
      [{ accounts }, {}],
      [{}, { accounts }],
    ] as const) {
      const { statusOf } = await chained(({ user }) => user?.team, options, own);
      for (const status of [200, 200, 429]) expect(await statusOf(ada)).toBe(status);
      expect(await statusOf(bob)).toBe(403);
    }
  });

  it('is refused without auth', () => {
    expect(() => createChain([rateLimit()], { accountOf: () => 'acme' })).toThrow(
      'stages: must list auth: without it the option accountOf has no effect',
    );
  });
});
