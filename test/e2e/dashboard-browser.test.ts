import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Browser, Locator, Request } from 'playwright-core';
import { defaultModels } from '../../src/catalog/default-models.ts';
import { portalPages } from '../../src/dashboard/portal/index.ts';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import {
  accessibilityFaults,
  faultsInEveryLook,
  looks,
  type Session,
  setLook,
  signIn,
  startBrowser,
  type WatchedPage,
  watchedPage,
} from '../support/browser.ts';
import { type DashboardVisitor, dashboardAdmin, operator, operatorAt } from '../support/dashboard-visitor.ts';
import { ask, clientKey, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { type OpenidProvider, startOpenidProvider } from '../support/openid-provider.ts';
import { promptOf } from '../support/playground-page.ts';
import { customerOf, portalSection } from '../support/portal-visitor.ts';
import { type RecordsPlace, recordsPlace } from '../support/records-place.ts';
import { until } from '../support/until.ts';
import { halfAYear } from '../support/usage-rows.ts';

/** What only a browser shows: scripts, focus, accessibility, cookies between sites, and what people come for with the clicks that it takes. */

let simulator: Simulator;
let provider: OpenidProvider;
let place: RecordsPlace;
let gateway: GatewayUnderTest;
let browser: Browser;
let session: Session;
/** The operator's window, and that of the customer carla. */
let watched: WatchedPage;
let customer: WatchedPage;
let visitor: DashboardVisitor;
/** Ids of a key of tester and of one of acme. */
let key_id: string;
let portal_key_id: string;
let clicks: number;

/** Served by a provider that is down, without another; and by another where that one fails. */
const [lost_model, covered_model] = ['aion-labs/aion-3.0', 'aion-labs/aion-3.5'];
const well_model = 'aion-labs/aion-2.0';
const request_id = 'a-request-of-acme';

const upstreamsOf = ({ id, upstreams }: ReturnType<typeof defaultModels>[number]) => {
  const broken = { provider: 'broken', model: 'away' };
  if (id === lost_model) return [broken];
  return id === covered_model ? [broken, { ...upstreams[0]!, priority: 2 }] : upstreams;
};
const home = () => `${gateway.adminUrl}/dashboard/`;
const portal = () => `${gateway.url}/portal/`;

async function send(id: string, model: string, key = clientKey): Promise<number> {
  const headers = { 'x-request-id': id, authorization: `Bearer ${key}` };
  const reply = await gateway.post(ask('Hello?', { model }), { headers });
  await reply.text();
  return reply.status;
}
const statusWith = (key: string) => send('of-a-key', well_model, key);

/** Some requests go well, one of them after a failed attempt; then a model fails. Rows of half a year are there already. */
async function fill(): Promise<void> {
  visitor = await operatorAt(gateway);
  for (let at = 0; at < 5; at++) expect(await send(`well-${at}`, well_model)).toBe(200);
  expect(await send('made-good', covered_model)).toBe(200);
  for (let at = 0; at < 3; at++) expect(await send(`lost-${at}`, lost_model)).toBe(502);
  const carla = await customerOf(gateway);
  await carla.get('keys');
  const { location } = await carla.post('keys', { name: 'billing' });
  portal_key_id = new URLSearchParams(location!.split('?')[1]).get('id')!;
  await send(request_id, well_model, await carla.secretAt(location));
  await until(async () => (await carla.get(`request?id=${request_id}`)).status === 200);
  await until(async () => (await visitor.get('request?id=lost-2')).status === 200);
}

beforeAll(async () => {
  [simulator, provider, place] = await Promise.all([
    startSimulator({ api_key: null }),
    startOpenidProvider(),
    recordsPlace(),
  ]);
  const { issuer, client_id, client_secret } = provider;
  const oidc = { issuer, client_id, client_secret, roles: { 'anna@example.com': 'viewer' } };
  key_id = await place.look(async ({ keys, accounts, ledger }) => {
    const who = { actor: operator.name, at_ms: Date.now() };
    const { record } = await keys.create({ account: 'tester', name: 'kept', expires_ms: null }, who);
    await accounts.create({ id: 'stored', plan: 'small', limits: {} }, who);
    await ledger.insert(halfAYear());
    return record.id;
  });
  gateway = await startGateway({
    upstream: simulator.url,
    config: {
      admin: dashboardAdmin({ oidc }),
      portal: portalSection(),
      stores: place.stores,
      plans: { small: { requests_per_minute: 10, usd_per_month: 20 }, tiny: { requests_per_minute: 5 } },
      accounts: {
        tester: { keys: [{ value: clientKey }] },
        nearly: { plan: 'tiny', keys: [{ value: 'sk-nearly' }] },
        acme: { plan: 'small' },
        rival: {},
      },
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
  // As another site to the browser, which has no strict cookies for it.
  provider.open(`${home().replace('127.0.0.1', 'localhost')}sign-in-callback`);
  await fill();
  browser = await startBrowser();
  [watched, customer] = [await watchedPage(browser), await watchedPage(browser)];
  await watched.page.goto(home());
  await signIn(watched.page);
  await watched.page.getByRole('button', { name: 'Sign out' }).waitFor();
  session = await watched.context.storageState();
  await customer.page.goto(portal());
  await signIn(customer.page, operator.password, 'carla');
  await customer.page.getByRole('button', { name: 'Sign out' }).waitFor();
}, 60_000);
beforeEach(() => {
  clicks = 0;
  watched.faults.length = 0;
  customer.faults.length = 0;
});
afterAll(async () => {
  await browser?.close();
  await gateway?.close();
  await Promise.all([simulator?.close(), provider?.close(), place?.remove()]);
});

const open = (page = '') => watched.page.goto(home() + page);

async function click(target: Locator): Promise<void> {
  clicks++;
  await target.click();
}
const clickLink = (name: string) => click(watched.page.getByRole('link', { name, exact: true }).first());
const clickButton = (name: string) => click(watched.page.getByRole('button', { name, exact: true }));

/** What the keys of the tabulator reach, until `last`; each must show its focus. */
async function tabbed({ page }: WatchedPage, last: string): Promise<string[]> {
  const seen: string[] = [];
  for (let presses = 0; presses < 40 && !seen.includes(last); presses++) {
    await page.keyboard.press('Tab');
    const [name, outline] = await page.evaluate<[string, string]>(
      `[document.activeElement.textContent.trim() || document.activeElement.name || '', getComputedStyle(document.activeElement).outlineStyle]`,
    );
    expect([name, outline]).toEqual([name, 'solid']);
    seen.push(name);
  }
  return seen;
}

describe('the overview', () => {
  it('updates itself while it is open', async () => {
    const { page, faults } = watched;
    await open();
    await page.getByText('No account has used 80 % of a limit.').waitFor();
    await page.getByText('live, this instance').waitFor();
    for (let at = 0; at < 4; at++)
      await gateway.stream(ask('Hello?', { model: well_model }), {
        headers: { authorization: 'Bearer sk-nearly' },
      });
    expect(await send('unknown-model', 'no/such')).toBe(400);
    // The page is not loaded again.
    await page.getByRole('link', { name: 'invalid_request_error' }).waitFor();
    await page.locator('[data-figure=first-token]', { hasText: /\d\sm?s · \d/ }).waitFor();
    await page.locator('[data-figure=requests]', { hasText: /\d\.\d/ }).waitFor();
    await page.locator('[data-part=limits]', { hasText: /4 of 5/ }).waitFor();
    expect(await page.locator('[data-part=limits] a').allTextContents()).toEqual(['nearly']);
    expect(await page.locator('.lines polyline').count()).toBeGreaterThanOrEqual(6);
    expect(await page.locator('[data-part=providers]').textContent()).toMatch(/Active.*100\s% of \d/s);
    expect(await faultsInEveryLook(page)).toEqual([]);
    await clickLink('Table');
    await page.getByRole('region', { name: 'Traffic over time' }).waitFor();
    expect(await faultsInEveryLook(page)).toEqual([]);
    expect(faults).toEqual([]);
  });

  it('closes its stream while nobody looks at it, and opens it again', async () => {
    const { page } = watched;
    await open();
    await page.getByText('live, this instance').waitFor();
    for (const [hidden, event] of [
      [true, 'requestfailed'],
      [false, 'request'],
    ] as const) {
      const seen = page.waitForEvent(event as 'request', (request: Request) =>
        request.url().includes('overview-live'),
      );
      await page.evaluate(`Object.defineProperty(document, 'hidden', { configurable: true, value: ${hidden} });
        document.dispatchEvent(new Event('visibilitychange'))`);
      await seen;
    }
    await page.evaluate('delete document.hidden');
  });
});

describe('the list of requests', () => {
  it('shows new requests by itself while the switch is on, with its filters, and none when it is off', async () => {
    const { page, faults } = watched;
    await open('requests?account=nearly&since=hour');
    const rows = page.locator('tbody tr');
    const before = await rows.count();
    const live = page.getByRole('button', { name: 'Live' });
    await live.click();
    await page.getByText('live', { exact: true }).waitFor();
    expect(page.url()).toMatch(/account=nearly&since=hour&live=yes$/);
    await send('seen-live', well_model, 'sk-nearly');
    await send('of-another-account', well_model);
    await page.locator('a[href="request?id=seen-live"]').waitFor();
    expect(await rows.count()).toBe(before + 1);
    expect(await faultsInEveryLook(page)).toEqual([]);
    await live.click();
    expect(page.url()).toMatch(/account=nearly&since=hour$/);
    expect(await live.getAttribute('aria-pressed')).toBe('false');
    expect(faults).toEqual([]);
  });
});

/** What people come to the dashboard for, from its start page. */
describe('an operator', () => {
  beforeEach(() => open());

  it('compares two models in six clicks from the start page to one of the answers', async () => {
    const { page, faults } = watched;
    await clickLink('Playground');
    await page.getByLabel('API key').fill(clientKey);
    await clickButton('Compare two models');
    // Opening a list and choosing from it are two clicks.
    clicks += 2;
    await page.getByLabel('Model B').selectOption(well_model);
    await promptOf(watched).fill('Why do rivers bend? [[sim:tps=500 tokens=20]]');
    await clickButton('Send');
    const second = page.getByRole('article', { name: `Answer of ${well_model}` });
    await click(second.getByRole('button', { name: 'Continue with this' }));
    await page.getByRole('article', { name: `Answer of ${covered_model}` }).waitFor({ state: 'detached' });
    expect(await second.locator('[data-used="cost"]').textContent()).toMatch(/^\$0\.\d+$/);
    expect([clicks, faults]).toEqual([6, []]);
  });

  it('finds in two clicks why errors spiked, since when, and an example with its attempts', async () => {
    const { page, faults } = watched;
    // Read without a click: the type of the error, whose it is, the provider, the model, how many, since when.
    const cause = page
      .getByRole('region', { name: 'Errors by cause' })
      .getByRole('row')
      .filter({ hasText: 'provider_error' });
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
    expect([clicks, faults]).toEqual([2, []]);
  });

  it('finds a request by its id in two clicks', async () => {
    const { page, faults } = watched;
    await clickLink('Requests');
    await page.getByLabel('Request id').fill('made-good');
    await clickButton('Find');
    await page.getByRole('heading', { name: 'Request', exact: true }).waitFor();
    expect(await page.locator('.title code').textContent()).toBe('made-good');
    expect([clicks, faults]).toEqual([2, []]);
  });

  it('follows one failing provider live in two clicks, also where another one made good for it', async () => {
    const { page, faults } = watched;
    const row = page.getByRole('region', { name: 'Providers and their states' }).getByRole('row', {
      name: 'broken',
    });
    expect(await row.textContent()).toMatch(/0\s%\sof\s\d+/);
    await click(row.getByRole('link', { name: /unreachable/ }));
    const link = (id: string) => page.locator(`a[href="request?id=${id}"]`);
    for (const id of ['lost-0', 'lost-1', 'lost-2', 'made-good']) await link(id).waitFor();
    expect(await link('well-0').count()).toBe(0);
    await clickButton('Live');
    await page.getByText('live', { exact: true }).waitFor();
    await send('made-good-again', covered_model);
    await link('made-good-again').waitFor();
    expect([clicks, faults]).toEqual([2, []]);
  });

  /** A key of a new account that may send `requests_per_minute`, as an operator has issued it. */
  async function issuedKey(account: string, requests_per_minute: number): Promise<string> {
    await visitor.get('accounts');
    await visitor.post('accounts', { id: account });
    await visitor.get(`account?id=${account}`);
    await visitor.post(`account?id=${account}`, {
      change: 'limits',
      requests_per_minute: `${requests_per_minute}`,
    });
    return (await visitor.issue(account, { name: `${account} service` })).key;
  }

  it('raises one limit for one account in three clicks, and sees what was there before', async () => {
    const key = await issuedKey('narrow', 1);
    expect([await statusWith(key), await statusWith(key)]).toEqual([200, 429]);
    const { page, faults } = watched;
    await clickLink('Accounts');
    await clickLink('narrow');
    const overrides = page.getByRole('region', { name: 'Overrides' });
    await overrides.getByLabel('Requests per minute').fill('100');
    await click(overrides.getByRole('button', { name: 'Save overrides' }));
    await page.getByText('Requests per minute: 1 → 100').waitFor();
    expect(await statusWith(key)).toBe(200);
    expect([clicks, faults]).toEqual([3, []]);
  });

  it('rotates a key in four clicks, with the new one copied, and no request is refused', async () => {
    const old = await issuedKey('steady', 1000);
    const statuses = new Set<number>();
    let isOver = false;
    const sending = (async () => {
      while (!isOver) statuses.add(await statusWith(old));
    })();
    const { page, faults } = watched;
    await clickLink('Keys');
    await clickLink('Rotate steady service');
    await clickButton('Rotate key');
    await clickButton('Copy key');
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    const next = (await page.evaluate('navigator.clipboard.readText()')) as string;
    expect(next).not.toBe(old);
    expect([await statusWith(next), await statusWith(old)]).toEqual([200, 200]);
    isOver = true;
    await sending;
    expect([...statuses]).toEqual([200]);
    expect([clicks, faults]).toEqual([4, []]);
  });

  it('revokes a key after a leak in four clicks, found by the end of what was leaked', async () => {
    const leaked = await issuedKey('careless', 1000);
    expect(await statusWith(leaked)).toBe(200);
    const { page, faults } = watched;
    await clickLink('Keys');
    await page.getByLabel('Search keys').fill(leaked.slice(-4));
    await clickButton('Search');
    await clickLink('Revoke careless service');
    await clickButton('Revoke key');
    await page.getByText('careless service is revoked').waitFor();
    expect(await statusWith(leaked)).toBe(401);
    expect([clicks, faults]).toEqual([4, []]);
  });

  it('onboards a customer in four clicks, who takes three to a key and one to the first request', async () => {
    const { page, faults } = watched;
    await clickLink('Accounts');
    await page.getByLabel('Name', { exact: true }).fill('newcomer');
    await clickButton('Create account');
    await page.getByLabel('Name or e-mail address').fill('nora@example.org');
    await clickButton('Invite to the portal');
    await clickButton('Copy link');
    expect(clicks).toBe(4);
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await faultsInEveryLook(page)).toEqual([]);
    const link = await page.evaluate<string>('navigator.clipboard.readText()');

    clicks = 0;
    const nora = await watchedPage(browser);
    await nora.page.goto(link);
    expect(await faultsInEveryLook(nora.page)).toEqual([]);
    await nora.page.getByLabel('New password', { exact: true }).fill('a password of nora');
    await nora.page.getByLabel('Repeat the new password').fill('a password of nora');
    await click(nora.page.getByRole('button', { name: 'Sign in' }));
    await click(nora.page.getByRole('link', { name: 'Keys', exact: true }));
    await nora.page.getByLabel('Name').fill('first');
    await click(nora.page.getByRole('button', { name: 'Issue key' }));
    const key = (await nora.page.locator('#secret').textContent())!;
    expect(clicks).toBe(3);

    await send('first-of-nora', well_model, key);
    clicks = 0;
    await until(async () => (await nora.page.goto(`${portal()}request?id=first-of-nora`))!.status() === 200);
    await nora.page.goto(portal());
    await click(
      nora.page.getByRole('region', { name: 'Latest requests', exact: true }).getByRole('link').first(),
    );
    await nora.page.getByText('first-of-nora').waitFor();
    expect(clicks).toBe(1);
    expect([...faults, ...nora.faults.filter(fault => !fault.includes('404'))]).toEqual([]);
    await nora.context.close();
  });

  it('finds the account that spent the most yesterday in four clicks', async () => {
    const yesterday = { ...halfAYear()[0]!, started_ms: Date.now() - 86_400_000 };
    await place.look(({ ledger }) =>
      ledger.insert([
        { ...yesterday, id: 'busy', account: 'busy', prompt_tokens: 9_000_000, cost_usd: '1.5' },
        { ...yesterday, id: 'dear', account: 'dear', prompt_tokens: 10, cost_usd: '42.75' },
      ]),
    );
    const { page, faults } = watched;
    for (const name of ['Usage', 'Yesterday', 'By account', 'Cost']) await clickLink(name);
    await page.getByRole('heading', { name: 'Cost by hour' }).waitFor();
    const first = page.getByRole('region', { name: 'Usage by account' }).locator('tbody tr').first();
    const cells = await first.locator('td').allTextContents();
    expect([cells[0], cells.at(-1)]).toEqual(['dear', '$42.75']);
    expect([clicks, faults]).toEqual([4, []]);
  });

  it('exports the last month in three clicks', async () => {
    const now = new Date();
    const monthDay = (months: number, day: number) =>
      new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months, day)).toISOString().slice(0, 10);
    const started_ms = Date.parse(monthDay(-1, 15));
    await place.look(({ ledger }) =>
      ledger.insert([{ ...halfAYear()[0]!, id: 'month', account: 'monthly', started_ms }]),
    );
    const { page } = watched;
    for (const name of ['Usage', 'Last month']) await clickLink(name);
    const saving = page.waitForEvent('download');
    await clickLink('Export all as CSV');
    const file = await saving;
    expect(file.suggestedFilename()).toBe(
      `usage-by-day-account-model-${monthDay(-1, 1)}-to-${monthDay(0, 0)}.csv`,
    );
    expect(await readFile(await file.path(), 'utf8')).toContain(`${monthDay(-1, 15)},monthly,`);
    expect(clicks).toBe(3);
  });

  it('issues one key by a double click, which is copied and gone when the page is loaded again', async () => {
    const { page, faults } = watched;
    await open('account?id=stored');
    await page.getByLabel('Name', { exact: true }).fill('double');
    await page.getByRole('button', { name: 'Issue key' }).dblclick();
    const key = (await page.locator('#secret').textContent())!;
    await clickButton('Copy key');
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(key);
    await page.reload();
    await page.getByText('A key is shown once').waitFor();
    expect(await page.content()).not.toContain(key);
    expect(await place.look(({ keys }) => keys.count({ account: 'stored' }))).toBe(1);
    expect(faults).toEqual([]);
  });

  it('reads a model as clients see it, opened with the keyboard', async () => {
    const { page } = watched;
    await open('models');
    const seen = (await (await fetch(`${gateway.url}/v1/models`)).json()) as { data: { id: string }[] };
    const shown = await page.locator('details pre').allTextContents();
    expect(shown.map(text => JSON.parse(text))).toEqual(seen.data);
    await page.getByText('As clients see it').first().press('Enter');
    await page.getByText('"context_length"').first().waitFor({ state: 'visible' });
    expect(await faultsInEveryLook(page)).toEqual([]);
  });
});

describe('the usage page', () => {
  it('is filtered, charted and exported', async () => {
    const { page, faults } = watched;
    await open('usage?from=2025-09-01&to=2025-09-30');
    await page.getByRole('heading', { name: 'By model' }).waitFor();
    await page.locator('.plot canvas').waitFor();
    expect(await page.locator('.bars').count()).toBe(0);
    expect(await page.locator('figcaption .key').count()).toBe(6);
    expect(await faultsInEveryLook(page)).toEqual([]);
    for (const name of ['By account', 'acme', 'Cost']) await clickLink(name);
    await page.locator('input[name=to]').fill('2026-02-28');
    await page.getByRole('button', { name: 'Show' }).click();
    await page.getByRole('heading', { name: 'Cost by month' }).waitFor();
    const saving = page.waitForEvent('download');
    await page.getByRole('link', { name: 'CSV by month' }).click();
    expect((await saving).suggestedFilename()).toBe('usage-by-month-2025-09-01-to-2026-02-28.csv');
    await open('usage?account=nobody');
    await page.getByText('nothing of the account “nobody”').waitFor();
    expect(await faultsInEveryLook(page)).toEqual([]);
    expect(faults).toEqual([]);
  });

  it('reads its bars out to pointers and to keys, and opens what they stand for', async () => {
    const { page, faults } = watched;
    await open('usage?from=2025-09-01&to=2025-09-02&show=requests');
    const plot = page.getByRole('application', { name: 'Requests by day' });
    const said = page.locator('.chart [role=status]');
    await plot.focus();
    const heard: (string | null)[] = [];
    for (const key of ['ArrowRight', 'ArrowRight', 'ArrowRight', 'Home', 'End', 'ArrowLeft', 'Escape']) {
      await page.keyboard.press(key);
      heard.push(await said.textContent());
    }
    const days = ['2025-09-01: 3, ', '2025-09-02: 2, '].map(start => expect.stringMatching(`^${start}`));
    expect(heard).toEqual([days[0], days[1], days[1], days[0], days[1], days[0], '']);
    expect(heard[0]).toContain('aion-labs/aion-3.5 1');

    const before = await plot.screenshot();
    const { x, y, width, height } = (await plot.boundingBox())!;
    await page.mouse.move(x + width * 0.75, y + height / 2);
    await until(async () => !(await plot.screenshot()).equals(before));
    expect(faults).toEqual([]);
  });

  it.each([
    ['runs no scripts', { javaScriptEnabled: false }],
    ['cannot load the library of charts', {}],
  ])('has its bars in a browser that %s', async (_, options) => {
    const context = await browser.newContext({ ...options, storageState: session });
    await context.route('**/chart.umd.min.js', route => route.abort());
    const page = await context.newPage();
    await page.goto(`${home()}usage?from=2025-09-01&to=2025-09-30`);
    await page.getByRole('heading', { name: 'By model' }).waitFor();
    expect(await page.locator('.bars g').count()).toBe(30);
    expect(await page.locator('.bars .series-1').count()).toBe(30);
    await context.close();
  });
});

describe('a page of another site', () => {
  beforeEach(() =>
    watched.page.goto(home().replace('127.0.0.1', 'localhost').replace('/dashboard/', '/healthz')),
  );

  it('links to the dashboard, where who has signed in stays so', async () => {
    const { page, faults } = watched;
    await page.setContent(`<a href="${home()}keys?all=yes">keys</a>`);
    await page.getByRole('link').click();
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
    expect(page.url()).toBe(`${home()}keys?all=yes`);
    // Of the other page, if it was there for long enough: that it has no icon, and no frame.
    expect(faults.filter(fault => !/404|localhost/.test(fault))).toEqual([]);
  });

  it('cannot make a browser submit a form of the dashboard', async () => {
    const { page } = watched;
    await page.setContent(
      `<form method="post" action="${home()}accounts"><input name="id" value="forged"><button>Go</button></form>`,
    );
    await page.getByRole('button').click();
    await page.getByRole('heading', { name: 'Sign in' }).or(page.getByText('Error 403')).waitFor();
    await open('account?id=forged');
    await page.getByText('Error 404').waitFor();
  });
});

describe('a sign-in', () => {
  it('with a wrong password is refused on a page that passes the checks', async () => {
    const { page, context, faults } = await watchedPage(browser);
    await page.goto(`${home()}keys`);
    expect(page.url()).toContain('/sign-in');
    await signIn(page, 'wrong');
    await page.getByRole('alert').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    expect(faults).toEqual([expect.stringContaining('401')]);
    await context.close();
  });

  it('by an OpenID provider of another site returns to the page that was asked for, with nothing blocked', async () => {
    const { page, context, faults } = await watchedPage(browser);
    const there = home().replace('127.0.0.1', 'localhost');
    await page.goto(`${there}keys?all=yes`);
    const way = page.getByRole('link', { name: 'Sign in with SSO' });
    await way.waitFor();
    provider.next = { email: 'anna@example.com', email_verified: true };
    await way.click();
    await page.getByText('anna@example.com · viewer').waitFor();
    expect(page.url()).toBe(`${there}keys?all=yes`);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await way.waitFor();
    await page.goBack();
    await way.waitFor();
    expect(faults.filter(fault => !fault.startsWith('request: '))).toEqual([]);
    await context.close();
    // Another browser: the provider knows this one by its cookies.
    const other = await watchedPage(browser);
    await other.page.goto(`${there}keys`);
    provider.next = { email: 'eve@example.com', email_verified: true };
    await other.page.getByRole('link', { name: 'Sign in with SSO' }).click();
    await other.page.getByText('You signed in as eve@example.com, who is not let in.').waitFor();
    expect(await faultsInEveryLook(other.page)).toEqual([]);
    await other.context.close();
  });
});

/** Pages of the portal with a document of their own, with what they show. */
const documents = portalPages
  .map(({ name }) => name)
  .filter(name => !['usage-csv', 'playground-run', 'playground-record'].includes(name))
  .map(name => (['issued', 'key', 'rotate', 'revoke'].includes(name) ? `${name}?id=KEY` : name))
  .map(name => (name === 'request' ? `request?id=${request_id}` : name));

describe('every page', () => {
  it.each([
    '',
    'requests',
    'request?id=nothing',
    'request?id=lost-2',
    'usage',
    'playground',
    'accounts',
    'accounts?search=nobody',
    'account?id=tester',
    'account?id=stored',
    'account?id=newcomer',
    'audit?target=stored&from=2026-01-01&action=account',
    'keys',
    'keys?search=nobody',
    'key?id=KEY',
    'revoke?id=KEY',
    'rotate?id=KEY',
    'issued?id=KEY',
    'audit',
    'nothing-here',
    'sign-in',
  ])('of the dashboard passes the accessibility checks in every look: /%s', async name => {
    await open(name.replace('KEY', key_id));
    expect(await faultsInEveryLook(watched.page)).toEqual([]);
    expect(watched.faults.filter(fault => !fault.includes('404'))).toEqual([]);
  });

  it.each([...documents, 'usage?from=2020-01-01&to=2020-01-02', 'nothing-here', 'invitation', 'sign-in'])(
    'of the portal passes the accessibility checks in every look: /%s',
    async name => {
      await customer.page.goto(portal() + name.replace('KEY', portal_key_id));
      expect(await faultsInEveryLook(customer.page)).toEqual([]);
      expect(customer.faults.filter(fault => !fault.includes('404'))).toEqual([]);
    },
  );

  it('of the portal but the playground shows everything without scripts', async () => {
    const storageState = await customer.context.storageState();
    const context = await browser.newContext({ javaScriptEnabled: false, storageState });
    const page = await context.newPage();
    for (const name of documents.filter(one => one !== 'playground')) {
      await page.goto(portal() + name.replace('KEY', portal_key_id));
      expect([name, await page.locator('main').textContent()]).toEqual([name, expect.stringMatching(/\S/)]);
    }
    await page.goto(`${portal()}keys`);
    await page.getByLabel('Name').fill('without scripts');
    await page.keyboard.press('Enter');
    expect(await page.locator('#secret').textContent()).toMatch(/^sk-sluice-/);
    await context.close();
  });

  it.each(Object.keys(looks) as (keyof typeof looks)[])(
    'shows a visible keyboard focus from the first key press, %s',
    async look => {
      await setLook(watched.page, look);
      await open('account?id=tester');
      const seen = await tabbed(watched, 'Issue key');
      expect(seen[0]).toBe('Skip to the content');
      expect(seen).toEqual(
        expect.arrayContaining(['Accounts', 'Keys', 'Audit log', 'Sign out', 'name', 'Issue key']),
      );
    },
  );

  it('of the portal is used with the keyboard alone', async () => {
    await customer.page.goto(`${portal()}keys`);
    const seen = await tabbed(customer, 'Issue key');
    expect(seen[0]).toBe('Skip to the content');
    expect(seen).toEqual(expect.arrayContaining(['Usage', 'Requests', 'Sign out', 'name', 'Issue key']));
  });
});
