import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Browser, Locator } from 'playwright-core';
import { defaultModels } from '../../src/catalog/default-models.ts';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { type Session, signIn, startBrowser, type WatchedPage, watchedPage } from '../support/browser.ts';
import { DashboardVisitor, dashboardAdmin } from '../support/dashboard-visitor.ts';
import { ask, clientKey, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { promptOf } from '../support/playground-page.ts';
import { until } from '../support/until.ts';

/** What people come to the dashboard for, from its start page, with the number of clicks that it takes. */

let simulator: Simulator;
let gateway: GatewayUnderTest;
let browser: Browser;
let session: Session;
let watched: WatchedPage;
let clicks: number;

/** Served by a provider that is down, without another. */
const lost_model = 'aion-labs/aion-3.0';
/** Served by another provider where that one fails. */
const covered_model = 'aion-labs/aion-3.5';

const upstreamsOf = ({ id, upstreams }: ReturnType<typeof defaultModels>[number]) => {
  const broken = { provider: 'broken', model: 'away' };
  if (id === lost_model) return [broken];
  return id === covered_model ? [broken, { ...upstreams[0]!, priority: 2 }] : upstreams;
};

const send = async (id: string, model: string): Promise<number> => {
  const reply = await gateway.post(ask('Hello?', { model }), { headers: { 'x-request-id': id } });
  await reply.text();
  return reply.status;
};

/** Some requests go well, one of them after a failed attempt; then a model fails. */
async function makeTraffic(): Promise<void> {
  for (let at = 0; at < 5; at++) expect(await send(`well-${at}`, 'aion-labs/aion-2.0')).toBe(200);
  expect(await send('made-good', covered_model)).toBe(200);
  for (let at = 0; at < 3; at++) expect(await send(`lost-${at}`, lost_model)).toBe(502);
  const visitor = new DashboardVisitor(`${gateway.adminUrl}/dashboard/`);
  await visitor.signIn();
  await until(async () => (await visitor.get('request?id=lost-2')).status === 200);
}

beforeAll(async () => {
  simulator = await startSimulator({ api_key: null });
  gateway = await startGateway({
    upstream: simulator.url,
    config: {
      admin: dashboardAdmin(),
      portal: { enabled: true },
      accounts: { tester: { keys: [{ value: clientKey }] } },
      providers: {
        upstream: { adapter: 'vllm', base_url: simulator.url },
        // Its circuit breaker stays closed.
        broken: {
          adapter: 'openai',
          base_url: 'http://127.0.0.1:9/v1',
          breaker: { consecutive_failures: 0, failure_ratio: 1 },
        },
      },
      models: defaultModels('upstream').map(model => ({ ...model, upstreams: upstreamsOf(model) })),
    } as never,
  });
  await makeTraffic();
  browser = await startBrowser();
  const { page, context } = await watchedPage(browser);
  await page.goto(`${gateway.adminUrl}/dashboard/`);
  await signIn(page);
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  session = await context.storageState();
  await context.close();
}, 60_000);
beforeEach(async () => {
  clicks = 0;
  watched = await watchedPage(browser, { session });
  await watched.page.goto(`${gateway.adminUrl}/dashboard/`);
});
afterEach(() => watched.context.close());
afterAll(async () => {
  await browser?.close();
  await gateway?.close();
  await simulator?.close();
});

async function click(target: Locator): Promise<void> {
  clicks++;
  await target.click();
}

/** Opening a list and choosing from it are two clicks. */
async function choose(target: Locator, value: string): Promise<void> {
  clicks += 2;
  await target.selectOption(value);
}

describe('comparing two models', () => {
  it('takes six clicks from the start page to one of the answers', async () => {
    const { page, faults } = watched;
    await click(page.getByRole('link', { name: 'Playground' }));
    await page.getByLabel('API key').fill(clientKey);
    await click(page.getByRole('button', { name: 'Compare two models' }));
    await choose(page.getByLabel('Model B'), 'aion-labs/aion-2.0');
    await promptOf(watched).fill('Why do rivers bend? [[sim:tps=500 tokens=20]]');
    await click(page.getByRole('button', { name: 'Send' }));
    const second = page.getByRole('article', { name: 'Answer of aion-labs/aion-2.0' });
    await click(second.getByRole('button', { name: 'Continue with this' }));
    await page.getByRole('article', { name: 'Answer of aion-labs/aion-3.5' }).waitFor({ state: 'detached' });
    expect(await second.locator('[data-used="cost"]').textContent()).toMatch(/^\$0\.\d+$/);
    expect(clicks).toBe(6);
    expect(faults).toEqual([]);
  });
});

describe('an operator', () => {
  it('finds in two clicks why errors spiked, since when, and an example with its attempts', async () => {
    const { page, faults } = watched;
    // Read without a click: the type of the error, whose it is, the provider, the model, how many, since when.
    const cause = page.getByRole('region', { name: 'Errors by cause' }).getByRole('row').nth(1);
    expect((await cause.locator('td').allInnerTexts()).slice(0, 5)).toEqual([
      'provider_error upstream_failed',
      'provider failed',
      'broken',
      lost_model,
      '3',
    ]);
    expect(await cause.locator('td').nth(6).textContent()).toMatch(/^\d\d:\d\d$/);
    await click(cause.getByRole('link', { name: 'provider_error' }));
    const samples = page.getByRole('region', { name: 'Requests, newest first' }).locator('tbody tr');
    await samples.first().waitFor();
    expect(await samples.count()).toBe(3);
    await click(samples.first().getByRole('link').first());
    const attempts = page.getByRole('region', { name: 'Attempts, in order' });
    expect(await attempts.getByRole('row').nth(1).textContent()).toMatch(
      /^\s*broken.*failed unreachable\s*connect ECONNREFUSED \[address\]\s*$/s,
    );
    expect(clicks).toBe(2);
    expect(faults).toEqual([]);
  });

  it('finds a request by its id in two clicks', async () => {
    const { page, faults } = watched;
    await click(page.getByRole('link', { name: 'Requests', exact: true }));
    await page.getByLabel('Request id').fill('made-good');
    await click(page.getByRole('button', { name: 'Find' }));
    await page.getByRole('heading', { name: 'Request', exact: true }).waitFor();
    expect(await page.locator('.title code').textContent()).toBe('made-good');
    expect(clicks).toBe(2);
    expect(faults).toEqual([]);
  });

  it('follows one failing provider live in two clicks, also where another one made good for it', async () => {
    const { page, faults } = watched;
    const provider = page
      .getByRole('region', { name: 'Providers and their states' })
      .getByRole('row', { name: 'broken' });
    expect(await provider.textContent()).toMatch(/0\s%\sof\s\d+/);
    await click(provider.getByRole('link', { name: /unreachable/ }));
    const link = (id: string) => page.locator(`a[href="request?id=${id}"]`);
    for (const id of ['lost-0', 'lost-1', 'lost-2', 'made-good']) await link(id).waitFor();
    expect(await link('well-0').count()).toBe(0);
    await click(page.getByRole('button', { name: 'Live' }));
    await page.getByText('live', { exact: true }).waitFor();
    await send('made-good-again', covered_model);
    await link('made-good-again').waitFor();
    expect(clicks).toBe(2);
    expect(faults).toEqual([]);
  });
});

/** A key of a stored account that may send `requests_per_minute`, as an operator has issued it. */
async function issuedKey(account: string, requests_per_minute: number): Promise<string> {
  const visitor = new DashboardVisitor(`${gateway.adminUrl}/dashboard/`);
  await visitor.signIn();
  await visitor.get('accounts');
  await visitor.post('accounts', { id: account });
  await visitor.get(`account?id=${account}`);
  await visitor.post(`account?id=${account}`, {
    change: 'limits',
    requests_per_minute: `${requests_per_minute}`,
  });
  const { location } = await visitor.post(`issue?account=${account}`, { name: `${account} service` });
  return /id="secret">([^<]+)</.exec((await visitor.get(location!)).text)![1]!;
}

const statusWith = async (key: string): Promise<number> => {
  const asked = ask('Hello?', { model: 'aion-labs/aion-2.0' });
  const reply = await gateway.post(asked, { headers: { authorization: `Bearer ${key}` } });
  await reply.text();
  return reply.status;
};

describe('an operator of accounts and keys', () => {
  it('raises one limit for one account in three clicks, and sees what was there before', async () => {
    const key = await issuedKey('narrow', 1);
    expect([await statusWith(key), await statusWith(key)]).toEqual([200, 429]);
    const { page, faults } = watched;
    await click(page.getByRole('link', { name: 'Accounts', exact: true }));
    await click(page.getByRole('link', { name: 'narrow', exact: true }));
    const overrides = page.getByRole('region', { name: 'Overrides' });
    await overrides.getByLabel('Requests per minute').fill('100');
    await click(overrides.getByRole('button', { name: 'Save overrides' }));
    await page.getByText('Requests per minute: 1 → 100').waitFor();
    expect(await statusWith(key)).toBe(200);
    expect(clicks).toBe(3);
    expect(faults).toEqual([]);
  });

  it('rotates a key in four clicks, with the new one copied, and no request is refused', async () => {
    const old = await issuedKey('steady', 1000);
    const statuses = new Set<number>();
    let isOver = false;
    const sending = (async () => {
      while (!isOver) statuses.add(await statusWith(old));
    })();
    const { page, faults } = watched;
    await click(page.getByRole('link', { name: 'Keys', exact: true }));
    await click(page.getByRole('link', { name: 'Rotate steady service' }));
    await click(page.getByRole('button', { name: 'Rotate key' }));
    await click(page.getByRole('button', { name: 'Copy key' }));
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    const next = (await page.evaluate('navigator.clipboard.readText()')) as string;
    expect(next).not.toBe(old);
    expect([await statusWith(next), await statusWith(old)]).toEqual([200, 200]);
    isOver = true;
    await sending;
    expect([...statuses]).toEqual([200]);
    expect(clicks).toBe(4);
    expect(faults).toEqual([]);
  });

  it('revokes a key after a leak in four clicks, found by the end of what was leaked', async () => {
    const leaked = await issuedKey('careless', 1000);
    expect(await statusWith(leaked)).toBe(200);
    const { page, faults } = watched;
    await click(page.getByRole('link', { name: 'Keys', exact: true }));
    await page.getByLabel('Search keys').fill(leaked.slice(-4));
    await click(page.getByRole('button', { name: 'Search' }));
    await click(page.getByRole('link', { name: 'Revoke careless service' }));
    await click(page.getByRole('button', { name: 'Revoke key' }));
    await page.getByText('careless service is revoked').waitFor();
    expect(await statusWith(leaked)).toBe(401);
    expect(clicks).toBe(4);
    expect(faults).toEqual([]);
  });
});

describe('onboarding a customer', () => {
  it('takes an operator four clicks, and the customer three to a key and one to the first request', async () => {
    const { page, faults } = watched;
    await click(page.getByRole('link', { name: 'Accounts', exact: true }).first());
    await page.getByLabel('Name', { exact: true }).fill('newcomer');
    await click(page.getByRole('button', { name: 'Create account' }));
    await page.getByLabel('Name or e-mail address').fill('nora@example.org');
    await click(page.getByRole('button', { name: 'Invite to the portal' }));
    await click(page.getByRole('button', { name: 'Copy link' }));
    expect(clicks).toBe(4);
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    const link = await page.evaluate<string>('navigator.clipboard.readText()');

    clicks = 0;
    const customer = await watchedPage(browser);
    await customer.page.goto(link);
    await customer.page.getByLabel('New password', { exact: true }).fill('a password of nora');
    await customer.page.getByLabel('Repeat the new password').fill('a password of nora');
    await click(customer.page.getByRole('button', { name: 'Sign in' }));
    await click(customer.page.getByRole('link', { name: 'Keys', exact: true }));
    await customer.page.getByLabel('Name').fill('first');
    await click(customer.page.getByRole('button', { name: 'Issue key' }));
    const key = await customer.page.locator('#secret').textContent();
    expect(clicks).toBe(3);

    const headers = { authorization: `Bearer ${key}`, 'x-request-id': 'first-of-nora' };
    await (await gateway.post(ask('Hello?', { model: 'aion-labs/aion-2.0' }), { headers })).text();
    clicks = 0;
    const portal = `${gateway.url}/portal/`;
    await until(
      async () => (await customer.page.goto(`${portal}request?id=first-of-nora`))!.status() === 200,
    );
    await customer.page.goto(portal);
    await click(
      customer.page.getByRole('region', { name: 'Latest requests', exact: true }).getByRole('link').first(),
    );
    await customer.page.getByText('first-of-nora').waitFor();
    expect(clicks).toBe(1);
    expect([...faults, ...customer.faults.filter(fault => !fault.includes('404'))]).toEqual([]);
    await customer.context.close();
  });
});
