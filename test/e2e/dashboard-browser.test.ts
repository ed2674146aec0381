import { readFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Browser, Locator, Request } from 'playwright-core';
import type { Page as DashboardPage } from '../../plugins/dashboard/page-request.ts';
import { pages } from '../../plugins/dashboard/pages/index.ts';
import { sharedPages } from '../../plugins/dashboard/pages/shared.ts';
import { portalPages } from '../../plugins/dashboard/portal/index.ts';
import { defaultModels } from '../../src/config/example-models.ts';
import type { LedgerRow } from '../../src/gateway/settlement/ledger-entry.ts';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import {
  everyLook,
  faultsOf,
  signIn,
  startBrowser,
  type WatchedPage,
  watchedPage,
} from '../support/browser.ts';
import {
  customerOf,
  type DashboardVisitor,
  dashboardAdmin,
  operator,
  operatorAt,
  portalSection,
} from '../support/dashboard-visitor.ts';
import { ask, clientKey, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { delta, finished, said, used } from '../support/hostile-setting.ts';
import { type OpenidProvider, startOpenidProvider } from '../support/openid-provider.ts';
import { type RecordsPlace, recordsPlace } from '../support/records-place.ts';
import {
  chunk,
  events,
  type Script,
  type ScriptedUpstream,
  startScriptedUpstream,
  streamed,
  streamHead,
} from '../support/scripted-upstream.ts';
import { until } from '../support/until.ts';
import { halfAYear } from '../support/usage-rows.ts';
import { sampleRows } from '../unit/src/mount/ledger/sample-row.ts';

/** What only a browser shows: scripts, focus, accessibility, cookies between sites, and what people come for with the clicks that it takes. */

let simulator: Simulator;
/** Serves the models `seeing` and `blind`. */
let script: ScriptedUpstream;
let provider: OpenidProvider;
let place: RecordsPlace;
let gateway: GatewayUnderTest;
let browser: Browser;
/** The operator's window, that of the customer carla, and one of somebody who has not signed in. */
let watched: WatchedPage;
let page: WatchedPage['page'];
let customer: WatchedPage;
let stranger: WatchedPage;
let visitor: DashboardVisitor;
/** Ids of a key of tester and of one of acme. */
let key_id: string;
let portal_key_id: string;
let clicks: number;
/** Faults of either that a test provokes. */
let expected: RegExp | undefined;

/** Served by a provider that is down, without another; and by another where that one fails. */
const [lost_model, covered_model] = ['aion-labs/aion-3.0', 'aion-labs/aion-3.5'];
/** Served by two providers, of which the second is slow. */
const well_model = 'aion-labs/aion-2.0';
/** Of the script. */
const [seeing, blind] = ['scripted/seeing', 'scripted/blind'];
const request_id = 'a-request-of-acme';

const upstreamsOf = ({ id, upstreams }: ReturnType<typeof defaultModels>[number]) => {
  const broken = { provider: 'broken', model: 'away' };
  if (id === lost_model) return [broken];
  if (id === well_model) return [...upstreams, { ...upstreams[0]!, provider: 'slow', priority: 2 }];
  return id === covered_model ? [broken, { ...upstreams[0]!, priority: 2 }] : upstreams;
};
const models = [
  ...defaultModels('upstream').map(model => ({ ...model, upstreams: upstreamsOf(model) })),
  ...[seeing, blind].map(id => ({
    ...defaultModels('script')[0]!,
    id,
    upstreams: [{ provider: 'script', model: id.replace('scripted/', '') }],
    ...(id === seeing && { architecture: { modality: 'text+image->text' } }),
  })),
];
const home = () => `${gateway.adminUrl}/dashboard/`;
const portal = () => `${gateway.url}/portal/`;

async function send(id: string, model: string, key = clientKey): Promise<number> {
  const headers = { 'x-request-id': id, authorization: `Bearer ${key}` };
  const reply = await gateway.post(ask('Hello?', { model }), { headers });
  await reply.text();
  return reply.status;
}
const statusWith = (key: string) => send('of-a-key', well_model, key);

/** What the slow provider has answered. */
function slowRows(): LedgerRow[] {
  const started_ms = Date.now() - 600_000;
  return sampleRows(4, { account: 'tester', model: well_model, provider: 'slow', started_ms }).map(row => ({
    ...row,
    attempts_made: row.attempts_made!.map(attempt => ({
      ...attempt,
      provider: 'slow',
      model: 'aion-2.0',
      first_token_ms: 9000,
      duration_ms: 12_000,
    })),
  }));
}

/** Some requests go well, one of them after a failed attempt; then a model fails. Rows of half a year are there already. */
async function fill(): Promise<void> {
  visitor = await operatorAt(gateway);
  for (let at = 0; at < 5; at++) expect(await send(`well-${at}`, well_model)).toBe(200);
  expect(await send('made-good', covered_model)).toBe(200);
  for (let at = 0; at < 3; at++) expect(await send(`lost-${at}`, lost_model)).toBe(502);
  const carla = await customerOf(gateway);
  const { location } = await carla.submit('keys', { name: 'billing' });
  portal_key_id = new URLSearchParams(location!.split('?')[1]).get('id')!;
  await send(request_id, well_model, await carla.secretAt(location));
  await until(async () => (await carla.get(`request?id=${request_id}`)).status === 200);
  await until(async () => (await visitor.get('request?id=lost-2')).status === 200);
}

beforeAll(async () => {
  [simulator, script, provider, place] = await Promise.all([
    startSimulator({ api_key: null }),
    startScriptedUpstream(),
    startOpenidProvider(),
    recordsPlace(),
  ]);
  const { issuer, client_id, client_secret } = provider;
  const oidc = { issuer, client_id, client_secret, roles: { 'anna@example.com': 'viewer' } };
  key_id = await place.look(async ({ keys, ledger }) => {
    const who = { actor: operator.name, at_ms: Date.now() };
    const { record } = await keys.create({ account: 'tester', name: 'kept', expires_ms: null }, who);
    await ledger.insert([...halfAYear(), ...slowRows()]);
    return record.id;
  });
  gateway = await startGateway({
    upstream: simulator.url,
    stages: [{ 'error-envelope': { openai_fields: true } }, 'auth', 'validation', 'rate-limit'],
    config: {
      admin: dashboardAdmin({ oidc }),
      portal: portalSection(),
      // Nothing is sent while this runs.
      notices: { mail: { host: '127.0.0.1', port: 1, from: 'sluice@example.com' }, poll_ms: 86_400_000 },
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
        slow: { adapter: 'vllm', base_url: simulator.url },
        script: { adapter: 'vllm', base_url: script.url },
        // Its circuit breaker stays closed.
        broken: {
          adapter: 'openai',
          base_url: 'http://127.0.0.1:9/v1',
          breaker: { consecutive_failures: 0, failure_ratio: 1 },
        },
      },
      models,
    } as never,
  });
  // As another site to the browser, which has no strict cookies for it.
  provider.open(`${home().replace('127.0.0.1', 'localhost')}sign-in-callback`);
  browser = await startBrowser();
  [watched, customer, stranger] = await Promise.all([
    watchedPage(browser),
    watchedPage(browser),
    watchedPage(browser),
  ]);
  ({ page } = watched);
  const enter = async ({ page }: WatchedPage, address: string, name: string) => {
    await page.goto(address);
    await signIn(page, operator.password, name);
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
  };
  await Promise.all([fill(), enter(watched, home(), operator.name), enter(customer, portal(), 'carla')]);
}, 60_000);
beforeEach(() => {
  clicks = 0;
  expected = undefined;
});
afterEach(() => {
  const faults = [watched, customer].flatMap(window => window.faults.splice(0));
  expect(faults.filter(fault => !expected?.test(fault))).toEqual([]);
});
afterAll(async () => {
  await browser?.close();
  await gateway?.close();
  await Promise.all([simulator, script, provider].map(one => one?.close()));
  await place?.remove();
});

const open = (path = '') => page.goto(home() + path);

async function click(target: Locator): Promise<void> {
  clicks++;
  await target.click();
}
const clickLink = (name: string) => click(page.getByRole('link', { name, exact: true }).first());
const clickButton = (name: string) => click(page.getByRole('button', { name, exact: true }));

/** What the keys of the tabulator reach, until `last`; each must show its focus. */
async function tabbed(page: WatchedPage['page'], last: string): Promise<string[]> {
  const seen: string[] = [];
  for (let presses = 0; presses < 40 && !seen.includes(last); presses++) {
    await page.keyboard.press('Tab');
    const [name, outline] = await page.evaluate<[string, string]>(
      `[document.activeElement.name || document.activeElement.textContent.trim(), getComputedStyle(document.activeElement).outlineStyle]`,
    );
    expect([name, outline]).toEqual([name, 'solid']);
    seen.push(name);
  }
  return seen;
}

describe('the overview', () => {
  it('updates itself while it is open', async () => {
    await open();
    expect(await page.locator('[data-part=attention]').textContent()).not.toContain('nearly');
    await page.locator('#live-state', { hasText: 'live' }).waitFor();
    for (let at = 0; at < 4; at++)
      await gateway.stream(ask('Hello?', { model: well_model }), {
        headers: { authorization: 'Bearer sk-nearly' },
      });
    expect(await send('unknown-model', 'no/such')).toBe(400);
    // The page is not loaded again.
    await page.getByRole('link', { name: 'invalid_request_error' }).waitFor();
    await page.locator('[data-part=tiles]', { hasText: /First token p50 · p95\d.* · \d.* s/ }).waitFor();
    await page.locator('[data-part=now]', { hasText: /\d\.\d requests/ }).waitFor();
    const near = page.locator('[data-part=attention] li', { hasText: /nearly.*80\s% of requests per/ });
    await near.getByRole('link', { name: 'Change its limits' }).waitFor();
    expect(await page.locator('[data-part=providers]').textContent()).toMatch(/upstreamActive\d+0\s%/);
    expect(await faultsOf(page)).toEqual([]);
  });

  it('closes its stream while nobody looks at it, and opens it again', async () => {
    await open();
    await page.locator('#live-state', { hasText: 'live' }).waitFor();
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

  it('says that the gateway does not answer, and fades, until it does', async () => {
    const other = await page.context().newPage();
    await other.clock.install();
    await other.route('**/overview-live*', route => route.fulfill({ status: 503 }));
    const refused = other.waitForResponse(response => response.status() === 503);
    await other.goto(page.url());
    await refused;
    await other.clock.runFor(20_000);
    await other.locator('main[data-stale] [role=status]', { hasText: 'does not answer' }).waitFor();
    await other.unroute('**/overview-live*');
    await other.clock.runFor(20_000);
    await other.locator('main:not([data-stale]) #live-state', { hasText: 'live' }).waitFor();
    await other.close();
  });
});

describe('a live part', () => {
  it('keeps focus, selection, scroll positions and what is open when it is brought up to date', async () => {
    await open('models');
    const seen = await page.evaluate(`(async () => {
      const { update } = await import('./assets/update.js');
      const part = document.getElementById('content');
      const row = (key, text) => '<tr data-key="' + key + '"><td><a href="#' + key + '">' + text + '</a></td></tr>';
      const table = (...rows) => '<div class="scroll" tabindex="0"><table><tbody>' + rows.join('') + '</tbody></table></div>';
      const more = '<details><summary>More</summary><p>all of it</p></details>';
      update(part, '<p>old</p>' + table(row('a', 'one'), row('b', 'two')) + more);
      const [scroll, details] = [part.querySelector('.scroll'), part.querySelector('details')];
      const at = key => part.querySelector('[data-key=' + key + '] a');
      const kept = at('b');
      details.open = true;
      Object.assign(scroll.style, { height: '20px', overflow: 'auto' });
      scroll.scrollTop = 10;
      kept.focus();
      getSelection().selectAllChildren(details.querySelector('p'));
      const state = () => [
        part.querySelector('p').textContent,
        [...part.querySelectorAll('a')].map(link => link.textContent).join(),
        String(getSelection()),
        document.activeElement === at('b'),
        at('b') === kept,
        details.open && details.isConnected,
        scroll.scrollTop > 0,
      ];
      update(part, '<p class="new">new</p>' + table(row('c', 'zero'), row('b', 'two'), row('a', 'one')) + more);
      const whole = state();
      update(part, '<p class="new">new</p>' + table(row('b', 'second'), row('d', '<b>fourth</b>'), row('c', 'zero')) + more);
      const rows = state();
      update(part, '<p class="new">new</p>' + table(row('d', '<b>fourth</b>')) + more);
      return { whole, rows, next: document.activeElement === scroll };
    })()`);
    const kept = ['all of it', true, true, true, true];
    expect(seen).toEqual({
      whole: ['new', 'zero,two,one', ...kept],
      rows: ['new', 'second,fourth,zero', ...kept],
      next: true,
    });
  });
});

/** What people come to the dashboard for, from its start page. */
describe('an operator', () => {
  beforeEach(() => open());

  it('compares two models in six clicks from the start page to one of the answers', async () => {
    await clickLink('Playground');
    await page.getByLabel('API key').fill(clientKey);
    await clickButton('Compare two models');
    // Opening a list and choosing from it are two clicks.
    clicks += 2;
    await page.getByLabel('Model B').selectOption(well_model);
    await promptOf().fill('Why do rivers bend? [[sim:tps=500 tokens=20]]');
    await clickButton('Send');
    const second = page.getByRole('article', { name: `Answer of ${well_model}` });
    await click(second.getByRole('button', { name: 'Continue with this' }));
    await page.getByRole('article', { name: `Answer of ${covered_model}` }).waitFor({ state: 'detached' });
    expect(await second.locator('[data-used="cost"]').textContent()).toMatch(/^\$0\.\d+$/);
    expect(clicks).toBe(6);
  });

  it('finds in two clicks why errors spiked, since when, and an example with its attempts', async () => {
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
    const samples = page.locator('#requests tbody tr');
    await samples.first().waitFor();
    expect(await samples.count()).toBe(3);
    await click(samples.first().getByRole('link').first());
    const attempts = page.getByRole('region', { name: 'Attempts, in order' });
    expect(await attempts.getByRole('row').nth(1).textContent()).toMatch(
      /^\s*broken.*failed unreachable\s*connect ECONNREFUSED \[address\]\s*$/s,
    );
    expect(clicks).toBe(2);
  });

  it('reads in two clicks why a request of a customer was refused', async () => {
    const body = ask('Hello?', { model: well_model, max_tokens: 99_999_999 });
    const reply = await gateway.post(body, { headers: { 'x-request-id': 'too-much' } });
    expect([reply.status, await reply.json()]).toEqual([400, expect.anything()]);
    await until(async () => (await visitor.get('request?id=too-much')).status === 200);
    await open();
    const cause = page
      .getByRole('region', { name: 'Errors by cause' })
      .getByRole('row')
      .filter({ hasText: well_model });
    await click(cause.getByRole('link', { name: 'invalid_request_error' }));
    await click(page.locator('a[href="request?id=too-much"]'));
    await page.getByRole('heading', { name: 'Request', exact: true }).waitFor();
    expect(await page.locator('main').textContent()).toMatch(/max_tokens/);
    expect(clicks).toBe(2);
  });

  it('drains the slow provider in two clicks', async () => {
    const rows = page.getByRole('region', { name: 'Providers and their states' });
    expect(await rows.getByRole('row', { name: 'slow' }).textContent()).toMatch(/ · 9\.\d+ s/);
    await clickLink('slow');
    await clickButton('Drain');
    await page.getByText(/^slow: drained by operators/).waitFor();
    expect(clicks).toBe(2);
  });

  it('compares the providers of a model in two clicks', async () => {
    await clickLink('Models');
    await clickLink(well_model);
    const providers = page.getByRole('region', { name: `Providers of ${well_model}` });
    const first = (await providers.locator('tbody tr').allInnerTexts()).slice(0, 2);
    expect(first).toEqual([expect.stringMatching(/^upstream/), expect.stringMatching(/^slow.* · 9\.\d+ s/s)]);
    expect(clicks).toBe(2);
  });

  it('sees what runs now, and cancels it, in two clicks', async () => {
    script.reply(streamHead() + chunk(events(said('On and on'))).toString());
    const running = gateway.stream(ask('Hello?', { model: seeing, stream: true }), {
      headers: { 'x-request-id': 'endless' },
    });
    await until(() => gateway.gateway.inFlight === 1);
    await clickLink('In flight');
    await clickButton('Cancel endless');
    await page.getByText(/^endless was cancelled/).waitFor();
    expect((await running).text).toContain('error');
    expect(clicks).toBe(2);
  });

  it('finds a request by its id in two clicks', async () => {
    await clickLink('Requests');
    await page.getByLabel('Request id', { exact: true }).fill('made-good');
    await clickButton('Find');
    await page.getByRole('heading', { name: 'Request', exact: true }).waitFor();
    expect(await page.locator('.title code').textContent()).toBe('made-good');
    expect(clicks).toBe(2);
  });

  it('follows one failing provider live in two clicks, also where another one made good for it', async () => {
    const row = page.getByRole('region', { name: 'Providers and their states' }).getByRole('row', {
      name: 'broken',
    });
    expect(await row.textContent()).toMatch(/100\s% \d+ unreachable/);
    await click(row.getByRole('link', { name: /100/ }));
    const link = (id: string) => page.locator(`a[href="request?id=${id}"]`);
    for (const id of ['lost-0', 'lost-1', 'lost-2', 'made-good']) await link(id).waitFor();
    expect(await link('well-0').count()).toBe(0);
    const [address, rows] = [page.url(), await page.locator('tbody tr').count()];
    await clickButton('Live');
    await page.getByText('live', { exact: true }).waitFor();
    expect([page.url(), clicks]).toEqual([`${address}&live=yes`, 2]);
    await send('well-again', well_model);
    await send('made-good-again', covered_model);
    await link('made-good-again').waitFor();
    expect(await page.locator('tbody tr').count()).toBe(rows + 1);
    await clickButton('Live');
    expect(page.url()).toBe(address);
    expect(await page.getByRole('button', { name: 'Live' }).getAttribute('aria-pressed')).toBe('false');
  });

  /** A key of a new account that may send `requests_per_minute`, as an operator has issued it. */
  async function issuedKey(account: string, requests_per_minute: number): Promise<string> {
    await visitor.submit('accounts', { id: account });
    await visitor.submit(`limits?account=${account}`, {
      requests_per_minute: `${requests_per_minute}`,
    });
    return (await visitor.issue(account, { name: `${account} service` })).key;
  }

  /** An account that has used all of the one request that it may send a day; shown on the overview. */
  async function nearItsLimit(account: string): Promise<void> {
    await visitor.submit('accounts', { id: account });
    await visitor.submit(`limits?account=${account}`, { requests_per_day: '1' });
    const { key } = await visitor.issue(account, { name: `${account} service` });
    expect(await statusWith(key)).toBe(200);
    await until(async () => (await visitor.get('.')).text.includes(`limits?account=${account}`));
    await open();
  }

  it('raises one limit for one account in three clicks, and sees what was there before', async () => {
    const key = await issuedKey('narrow', 1);
    expect([await statusWith(key), await statusWith(key)]).toEqual([200, 429]);
    await clickLink('Accounts');
    await click(page.locator('a[href="limits?account=narrow"]'));
    const overrides = page.getByRole('region', { name: 'Overrides' });
    await overrides.getByLabel('Requests per minute', { exact: true }).fill('100');
    await click(overrides.getByRole('button', { name: 'Save overrides' }));
    await page.getByText('The account is changed').waitFor();
    expect(await statusWith(key)).toBe(200);
    expect(clicks).toBe(3);
    await clickLink('History');
    await page.getByText('Requests per minute: 1 → 100').waitFor();
  });

  it('raises a limit until tonight in three clicks from what needs attention', async () => {
    await nearItsLimit('pressed');
    const needs = page.locator('[data-part=attention] li').filter({ hasText: 'pressed' });
    await click(needs.getByRole('link', { name: 'Change its limits' }));
    await click(page.getByText('Raise…').first());
    await page.getByLabel('Raise to').first().fill('1,000');
    await click(page.getByRole('button', { name: 'Raise', exact: true }).first());
    await page
      .getByText(/of 1.000/)
      .first()
      .waitFor();
    expect(clicks).toBe(3);
  });

  it('sees who is near a limit, and tells them, in two clicks', async () => {
    await nearItsLimit('warned');
    await visitor.submit('limits?account=warned', { change: 'contacts', contacts: 'walt@example.org' });
    const needs = page.locator('[data-part=attention] li').filter({ hasText: 'warned' });
    await click(needs.getByRole('link', { name: 'Change its limits' }));
    await clickButton('Tell the contacts now');
    await page.getByText('It is sent to walt@example.org within seconds.').waitFor();
    expect(clicks).toBe(2);
  });

  it('rotates a key in four clicks, with the new one copied, and no request is refused', async () => {
    const old = await issuedKey('steady', 1000);
    const statuses = new Set<number>();
    let isOver = false;
    const sending = (async () => {
      while (!isOver) statuses.add(await statusWith(old));
    })();
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
    expect(clicks).toBe(4);
  });

  it('revokes a key after a leak in four clicks, found by the end of what was leaked', async () => {
    const leaked = await issuedKey('careless', 1000);
    expect(await statusWith(leaked)).toBe(200);
    await clickLink('Keys');
    await page.getByLabel('Search keys').fill(leaked.slice(-4));
    await clickButton('Search');
    await clickLink('Revoke careless service');
    await clickButton('Revoke key');
    await page.getByText('careless service is revoked').waitFor();
    expect(await statusWith(leaked)).toBe(401);
    expect(clicks).toBe(4);
  });

  it('finds a leaked key by its secret, and revokes it, in three clicks', async () => {
    const leaked = await issuedKey('leaky', 1000);
    await clickLink('Keys');
    await page.getByLabel('Search keys').fill(leaked);
    await clickButton('Search');
    await clickButton('Revoke key');
    await page.getByText('leaky service is revoked').waitFor();
    expect(await statusWith(leaked)).toBe(401);
    expect(clicks).toBe(3);
  });

  it('onboards a customer in four clicks, who takes three to a key and one to the first request', async () => {
    await clickLink('Accounts');
    await click(page.getByText('Create an account', { exact: true }));
    await page.getByLabel('Name', { exact: true }).fill('newcomer');
    await page.getByLabel('Invite to the portal').fill('nora@example.org');
    await clickButton('Create account');
    await clickButton('Copy link');
    expect(clicks).toBe(4);
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await faultsOf(page)).toEqual([]);
    const link = await page.evaluate<string>('navigator.clipboard.readText()');

    clicks = 0;
    const nora = stranger.page;
    await nora.goto(link);
    expect(await faultsOf(nora)).toEqual([]);
    await nora.getByLabel('New password', { exact: true }).fill('a password of nora');
    await nora.getByLabel('Repeat the new password').fill('a password of nora');
    await click(nora.getByRole('button', { name: 'Sign in' }));
    await click(nora.getByRole('link', { name: 'Keys', exact: true }));
    await nora.getByLabel('Name', { exact: true }).fill('first');
    await click(nora.getByRole('button', { name: 'Issue key' }));
    const key = (await nora.locator('#secret').textContent())!;
    expect(clicks).toBe(3);

    await send('first-of-nora', well_model, key);
    clicks = 0;
    await until(async () => (await nora.goto(`${portal()}request?id=first-of-nora`))!.status() === 200);
    await nora.goto(portal());
    await click(nora.getByRole('region', { name: 'Latest requests', exact: true }).getByRole('link').first());
    await nora.getByText('first-of-nora').waitFor();
    expect(clicks).toBe(1);
    expect(stranger.faults.splice(0).filter(fault => !fault.includes('404'))).toEqual([]);
    await stranger.context.clearCookies();
  });

  it('finds the account that spent the most yesterday in four clicks', async () => {
    const yesterday = { ...halfAYear()[0]!, started_ms: Date.now() - 86_400_000 };
    await place.look(({ ledger }) =>
      ledger.insert([
        { ...yesterday, id: 'busy', account: 'busy', prompt_tokens: 9_000_000, cost_usd: '1.5' },
        { ...yesterday, id: 'dear', account: 'dear', prompt_tokens: 10, cost_usd: '42.75' },
      ]),
    );
    for (const name of ['Usage', 'Yesterday', 'By account', 'Cost']) await clickLink(name);
    await page.getByRole('heading', { name: 'Cost by hour' }).waitFor();
    const first = page.getByRole('region', { name: 'Usage by account' }).locator('tbody tr').first();
    const cells = await first.locator('td').allTextContents();
    expect(cells).toEqual(expect.arrayContaining([expect.stringMatching(/^dear/), '$42.75']));
    expect(clicks).toBe(4);
  });

  it('has the statement of the last month in two clicks', async () => {
    const { page } = customer;
    await page.goto(portal());
    await click(page.getByRole('link', { name: 'Usage', exact: true }).first());
    await click(page.getByRole('link', { name: 'Statement', exact: true }));
    const month = new Date(new Date().setUTCDate(0)).toISOString().slice(0, 7);
    await page.getByRole('heading', { name: `Statement ${month} of acme` }).waitFor();
    expect(clicks).toBe(2);
  });

  it('exports the last month in three clicks', async () => {
    const now = new Date();
    const monthDay = (months: number, day: number) =>
      new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months, day)).toISOString().slice(0, 10);
    const started_ms = Date.parse(monthDay(-1, 15));
    await place.look(({ ledger }) =>
      ledger.insert([{ ...halfAYear()[0]!, id: 'month', account: 'monthly', started_ms }]),
    );
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
});

/** A figure below an answer; `back` 1 is the answer before the last. */
const figure = (name: string, back = 0) => answer(back).locator(`[data-used="${name}"]`).textContent();
const answer = (back = 0): Locator => page.locator('article.answer').nth(-1 - back);
const textOf = (back = 0) => answer(back).locator('.text').textContent();
const state = (text: string, back = 0) => answer(back).locator('.state').getByText(text).waitFor();
const button = (name: string) => page.getByRole('button', { name, exact: true });
const promptOf = (of = page) => of.getByRole('textbox', { name: 'Prompt', exact: true });
async function prompt(text: string, of = page): Promise<void> {
  await promptOf(of).fill(text);
  await of.getByRole('button', { name: 'Send', exact: true }).click();
}

const scripted = (text: string): Script => streamed(events(said(text), finished(), used(7, 3), '[DONE]'));
/** The messages of the last request to the script, each as its role and content. */
const sent = () =>
  (script.last.body.messages as { role: string; content: unknown }[]).map(({ role, content }) => [
    role,
    content,
  ]);

async function openPlayground(model: string, of = page): Promise<void> {
  await of.goto(`${home()}playground?model=${model}`);
  if (of.url().includes('sign-in')) await signIn(of);
  await of.getByLabel('API key').fill(clientKey);
}

describe('the playground', () => {
  beforeEach(() => {
    script.requests.length = 0;
  });

  it('streams an answer with its reasoning apart, and shows the usage and cost of its record', async () => {
    await openPlayground(well_model);
    await prompt('Why do rivers bend? [[sim:tps=80 reasoning_tokens=90 tokens=60]]');
    await answer().locator('.reasoning').filter({ hasText: /\w/ }).waitFor();
    const running = Number(await figure('completion'));
    await state('Complete.');
    const [reasoning, text] = [(await answer().locator('.reasoning').textContent())!, (await textOf())!];
    expect([reasoning.length > 50, text.length > 50, text.includes(reasoning)]).toEqual([true, true, false]);
    await page.getByText('In the ledger: account tester, answered by upstream, completed.').waitFor();
    const id = /req_[\w-]+/.exec((await answer().locator('.request-id').textContent())!)![0];
    const { tokens, cost_usd } = JSON.parse((await visitor.get(`playground-record?id=${id}`)).text);
    expect(running).toBeLessThan(tokens.completion_tokens);
    for (const [name, value] of [
      ['prompt', tokens.prompt_tokens],
      ['cached', tokens.cached_tokens],
      ['completion', tokens.completion_tokens],
      ['reasoning', 90],
      ['cost', `$${cost_usd}`],
      ['first-token', expect.stringMatching(/^\d+\sms$/)],
      ['total', expect.stringMatching(/^\d+\.\d\d\ss$/)],
      ['speed', expect.stringMatching(/^\d+/)],
    ] as const)
      expect([name, await figure(name)]).toEqual([name, typeof value === 'number' ? `${value}` : value]);
    expect(await page.getByRole('status').textContent()).toMatch(
      /^Answer of aion-labs\/aion-2\.0: Complete\. 150 tokens in \d+\.\d s\.$/,
    );
    await page.getByRole('link', { name: 'Open the record' }).click();
    await page.locator('.title').getByText(id).waitFor();
  });

  it('stops by Escape, which settles what has arrived, and shows that', async () => {
    await openPlayground(well_model);
    await page.getByText('System prompt').click();
    await prompt(`${'unbroken'.repeat(40)} [[sim:tokens=endless tps=20 reasoning_tokens=5]]`);
    await state('Answering…');
    expect(await faultsOf(page, ['forced'])).toEqual([]);
    await page.keyboard.press('Escape');
    await state('Stopped.');
    await page.getByText('In the ledger: account tester, answered by upstream, client gone.').waitFor();
    expect(gateway.gateway.inFlight).toBe(0);
    // Not the one before, but the next.
    await prompt('Hello?');
    await page.getByText('upstream, completed.').waitFor();
  });

  it('shows an error with its code and parameter, and succeeds when asked again without its cause', async () => {
    await openPlayground(well_model);
    await page.getByLabel('API key').fill('sk-of-nobody');
    await prompt('Hello?');
    await page.getByRole('alert').getByText('Invalid API key. (401 · authentication_error').waitFor();
    await page.getByLabel('API key').fill(` ${clientKey} `);
    await page.getByLabel('Max tokens').fill('99999999');
    await button('Retry').click();
    await page.getByText(/ \(400 · invalid_request_error · \w+ · param: max_tokens\)$/).waitFor();
    await state('Not answered.');
    expect(await answer().locator('.request-id').textContent()).toMatch(/^Request req_/);
    await page.getByLabel('Max tokens').fill('');
    await button('Retry').click();
    await state('Complete.');
    expect(await answer().getByRole('alert').isVisible()).toBe(false);
  });

  it('shows paragraphs, lists and code of an answer, and no HTML', async () => {
    const hostile = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>&amp;`;
    const text = `Two **ways**:\n\n1. \`one\`\n2. ${hostile}\n\n\`\`\`js\nlet a = "<b>";\n\nlet b;\n\`\`\`\n\nDone.`;
    script.reply(
      streamed(events(delta({ reasoning: hostile }), said(text), finished(), used(7, 3), '[DONE]')),
    );
    await openPlayground(seeing);
    await prompt('How?');
    await state('Complete.');
    const shown = answer().locator('.text');
    expect(await shown.locator('ol > li').allTextContents()).toEqual(['one', hostile]);
    expect(await shown.locator('strong').textContent()).toBe('ways');
    expect(await shown.locator('pre').textContent()).toBe('let a = "<b>";\n\nlet b;');
    expect(await shown.locator('p').allTextContents()).toEqual(['Two ways:', 'Done.']);
    expect(await answer().locator('.reasoning').textContent()).toContain(hostile);
    expect([await answer().locator(':is(img, script, b)').count(), await page.title()]).toEqual([
      0,
      'Playground · sluice',
    ]);
  });

  it('reports an expired session, keeps the conversation, and goes on after signing in in another tab', async () => {
    expected = /40[13]/;
    const { context, faults } = watched;
    await openPlayground(well_model);
    await context.clearCookies({ name: 'sluice_session' });
    await prompt('A prompt that took long to write');
    await page.getByText('You are signed out. Sign in in another tab, and retry here.').waitFor();
    const prompted = page.getByRole('article', { name: 'Prompt' });
    expect(await prompted.textContent()).toContain('A prompt that took long to write');
    const value = (await operatorAt(gateway)).cookies.get('sluice_session')!;
    await context.addCookies([{ name: 'sluice_session', value, url: home() }]);
    await button('Retry').click();
    await page.getByText('upstream, completed.').waitFor();
    expect(faults).toEqual([expect.stringContaining('401'), expect.stringContaining('403')]);
  });

  it('offers the efforts of the model', async () => {
    await openPlayground(well_model);
    const effort = page.getByLabel('Reasoning effort');
    const model = page.getByLabel('Model', { exact: true });
    await effort.selectOption('none');
    await model.selectOption('aion-labs/aion-rp-llama-3.1-8b');
    expect([await effort.inputValue(), await effort.isDisabled()]).toEqual(['', true]);
    await model.selectOption(covered_model);
    const offered = ['default (high)', 'low', 'high', 'max'];
    expect(await effort.locator('option').allTextContents()).toEqual(offered);
  });

  it('has conversations of turns that can be edited, asked again and deleted', async () => {
    await openPlayground(seeing);
    await page.getByText('System prompt').click();
    await page.getByLabel('System prompt').fill('Be brief.');
    for (const [asked, said] of [
      ['First?', 'One.'],
      ['Second?', 'Two.'],
    ] as const) {
      script.reply(scripted(said));
      await prompt(asked);
      await answer().getByText(said).waitFor();
      await state('Complete.');
    }
    expect(sent()).toEqual([
      ['system', 'Be brief.'],
      ['user', 'First?'],
      ['assistant', 'One.'],
      ['user', 'Second?'],
    ]);
    // Edits change what is sent; asking again drops what came after.
    const first = page.getByRole('article', { name: 'Prompt' }).first();
    await first.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Edited prompt').fill('Zeroth?');
    await button('Save').click();
    await answer().getByRole('button', { name: 'Retry' }).click();
    await until(() => script.requests.length === 3);
    expect(sent()[1]).toEqual(['user', 'Zeroth?']);
    await answer(1).getByRole('button', { name: 'Delete' }).click();
    await first.getByRole('button', { name: 'Ask again' }).click();
    await until(() => script.requests.length === 4);
    expect(sent()).toEqual([
      ['system', 'Be brief.'],
      ['user', 'Zeroth?'],
    ]);
    await state('Complete.');
    expect(await page.getByRole('article').count()).toBe(2);
    await button('Start anew').click();
    expect(await page.getByRole('article').count()).toBe(0);
  });

  /** Chooses two models of the script, of which the second has a temperature of its own. */
  async function compare(): Promise<void> {
    await openPlayground(seeing);
    await button('Compare two models').click();
    const second = page.getByRole('group', { name: 'Model B' });
    await second.getByLabel('Model B').selectOption(blind);
    await second.getByLabel('Temperature').fill('0.5');
  }

  it('has two models answer the same conversation at once, each with its parameters, and either goes on', async () => {
    script.reply((socket, { body }) => socket.write(scripted(`I am ${body.model}.`) as Buffer));
    await compare();
    await prompt('Who are you?');
    await button('Continue with this').nth(1).waitFor();
    const messages = [{ role: 'user', content: 'Who are you?' }];
    expect(script.requests.map(({ body }) => [body.model, body.temperature, body.messages])).toEqual(
      expect.arrayContaining([
        ['seeing', undefined, messages],
        ['blind', 0.5, messages],
      ]),
    );
    expect([await textOf(1), await textOf()]).toEqual(['I am seeing.', 'I am blind.']);
    for (const back of [0, 1]) {
      expect(await figure('completion', back)).toBe('3');
      expect(await figure('cost', back)).toMatch(/^\$0\.0/);
    }
    expect(await faultsOf(page, everyLook)).toEqual([]);
    await prompt('And what is next?');
    await page.getByText('continue with one of them').waitFor();
    expect(script.requests).toHaveLength(2);
    await button('Continue with this').nth(1).click();
    await button('Compare two models').click();
    await button('Send').click();
    await until(() => script.requests.length === 3);
    expect(sent()).toEqual([
      ['user', 'Who are you?'],
      ['assistant', 'I am blind.'],
      ['user', 'And what is next?'],
    ]);
  });

  it('stops two answers one by one, and aborts what is left when the page is', async () => {
    script.reply(streamHead() + chunk(events(said('On and on'))).toString());
    await compare();
    await prompt('Tell me a story.');
    await state('Answering…');
    await state('Answering…', 1);
    await answer(1).getByRole('button', { name: 'Stop' }).click();
    await state('Stopped.', 1);
    await until(() => gateway.gateway.inFlight === 1);
    expect(await answer().locator('.state').textContent()).toBe('Answering…');
    await open('models');
    await until(() => gateway.gateway.inFlight === 0);
    expect(await Promise.all(script.requests.map(({ closed }) => closed))).toEqual(['gateway', 'gateway']);
  });

  it('is used with the keyboard alone, also with two models', async () => {
    script.reply(scripted('Yes.'));
    await openPlayground(seeing);
    await page.getByLabel('API key').focus();
    const seen = await tabbed(page, 'Send');
    expect(seen).toEqual(
      expect.arrayContaining(['prompt', 'reasoning_effort', 'temperature', 'max_tokens', 'Send']),
    );
    await page.keyboard.press('Enter');
    await state('Complete.');
    const focused = () =>
      page.evaluate<string>('document.activeElement.name || document.activeElement.textContent');
    expect(await focused()).toBe('prompt');
    await button('Compare two models').press('Enter');
    await promptOf().fill('Hello?');
    await promptOf().press('Control+Enter');
    await button('Continue with this').nth(1).waitFor();
    // Back from the prompt over the buttons of the last answer.
    for (let presses = 0; presses < 12 && (await focused()) !== 'Continue with this'; presses++)
      await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Enter');
    await button('Continue with this').first().waitFor({ state: 'detached' });
    expect(await focused()).toBe('prompt');
  });

  it('keeps a key that a customer tries in the tab until signing out, and out of page, address and other storage', async () => {
    const { page, context } = customer;
    await page.goto(`${portal()}keys`);
    await page.getByText('Issue a key').click();
    await page.getByRole('button', { name: 'Issue key' }).click();
    const key = (await page.locator('#secret').textContent())!;
    await page.getByRole('link', { name: 'Try it in the playground' }).click();
    const typed = async () => {
      await page.locator('#send:enabled').waitFor();
      return page.getByLabel('API key').inputValue();
    };
    expect([await typed(), page.url()]).toEqual([key, `${portal()}playground`]);
    await prompt('Hello?', page);
    await page.getByText('In the ledger: account acme, completed.').waitFor();
    const stored = JSON.stringify([
      await context.storageState(),
      await page.content(),
      page.url(),
      await page.evaluate<string[]>(`performance.getEntries().map(({ name }) => name)`),
    ]);
    expect(stored).not.toContain(key);
    await page.getByRole('link', { name: 'Open the record' }).click();
    await page.getByRole('heading', { name: 'Request', exact: true }).waitFor();
    expect(page.url()).toMatch(/\/portal\/request\?id=req_/);
    await page.goBack();
    expect(await typed()).toBe(key);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    expect(await page.evaluate<string>('JSON.stringify(sessionStorage)')).toBe('{}');
    await signIn(page, operator.password, 'carla');
    await page.goto(`${portal()}playground`);
    expect(await typed()).toBe('');
  });
});

describe('the usage page', () => {
  it('reads its bars out to pointers and to keys, and opens what they stand for', async () => {
    await open('usage?from=2025-09-01&to=2025-09-02&show=requests&by=model');
    const plot = page.getByRole('application', { name: 'Requests by day' });
    await page.locator('.plot canvas').waitFor();
    expect(await page.locator('.chart table').isVisible()).toBe(false);
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
    await page.mouse.click(x + width * 0.75, y + height / 2);
    await page.waitForURL(/usage\?from=2025-09-02&to=2025-09-02/);
  });

  it('has the table of its chart where the library of charts cannot be loaded', async () => {
    expected = /ERR_FAILED/;
    await page.route('**/uPlot.iife.min.js', route => route.abort());
    await open('usage?from=2025-09-01&to=2025-09-30&by=model');
    await page.getByRole('heading', { name: 'By model' }).waitFor();
    await page.locator('.chart table').waitFor();
    expect(await page.locator('.chart tbody tr').count()).toBe(30);
    await page.unrouteAll();
  });
});

describe('a page of another site', () => {
  it('links to the dashboard, where who has signed in stays so, and cannot make a browser submit a form of the dashboard', async () => {
    // That it has no icon and no frame, and what is refused to it.
    expected = /40[34]|localhost/;
    const there = home().replace('127.0.0.1', 'localhost').replace('/dashboard/', '/healthz');
    await page.goto(there);
    await page.setContent(`<a href="${home()}keys?all=yes">keys</a>`);
    await page.getByRole('link').click();
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
    expect(page.url()).toBe(`${home()}keys?all=yes`);
    await page.goto(there);
    await page.setContent(
      `<form method="post" action="${home()}accounts"><input name="id" value="forged"><button>Go</button></form>`,
    );
    await page.getByRole('button').click();
    await page.getByRole('heading', { name: 'Sign in' }).or(page.getByText('Error 403')).waitFor();
    expect((await visitor.get('account?id=forged')).status).toBe(404);
  });
});

describe('a sign-in', () => {
  it('with a wrong password is refused on a page that passes the checks', async () => {
    const { page, faults } = stranger;
    await page.goto(`${home()}keys`);
    expect(page.url()).toContain('/sign-in');
    await signIn(page, 'wrong');
    await page.getByRole('alert').waitFor();
    expect(await faultsOf(page)).toEqual([]);
    expect(faults.splice(0)).toEqual([expect.stringContaining('401')]);
  });

  it('by an OpenID provider of another site returns to the page that was asked for, with nothing blocked', async () => {
    const { page, faults } = stranger;
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
  });
});

/** What pages are shown with where their name alone shows little; a request and a key of each site. */
const addressesOf = (request: string, key: string): Readonly<Record<string, readonly string[]>> => ({
  '': ['.?by=model'],
  requests: ['requests?account=nearly'],
  request: [`request?id=${request}`],
  usage: ['usage?from=2025-09-01&to=2026-02-28&show=cost', 'usage?account=nobody'],
  statement: ['statement?account=acme'],
  account: ['account?id=tester', 'account?id=acme'],
  limits: ['limits?account=acme'],
  keys: ['keys', 'keys?account=acme'],
  people: ['people?account=acme'],
  history: ['history?account=acme'],
  model: [`model?id=${models[0]!.id}`],
  provider: ['provider?name=broken'],
  audit: ['audit?target=acme&from=2026-01-01&action=account'],
  key: [`key?id=${key}`, `key?id=${key}&do=rotate`],
});
/** Pages that are no documents, or that are looked at where somebody comes to them. */
const elsewhere = /(-live|-csv|-run|-record)$|^(find|playground)$/;
const namesOf = (all: readonly Pick<DashboardPage, 'name' | 'get'>[]) =>
  all.filter(({ name, get }) => get && !elsewhere.test(name)).map(({ name }) => name);

describe('every page', () => {
  async function faultsIn(window: WatchedPage, base: string, names: readonly string[]): Promise<unknown[]> {
    const found: unknown[] = [];
    for (const name of names) {
      const status = (await window.page.goto(base + name))!.status();
      const faults = await faultsOf(window.page, everyLook);
      if (status !== (name === 'nothing-here' ? 404 : 200) || faults.length > 0)
        found.push([window.page.url(), status, faults]);
    }
    return found;
  }

  it('passes the accessibility checks in light and dark, at 400 pixels, at 200 % and in forced colours', async () => {
    expected = /404/;
    const addresses = addressesOf('lost-2', key_id);
    // Those that customers share with operators have fewer columns with them.
    const shared = new Set(namesOf(sharedPages));
    const found = await Promise.all([
      faultsIn(watched, home(), [
        ...namesOf(pages).flatMap(name => addresses[name] ?? [name]),
        'nothing-here',
      ]),
      faultsIn(
        customer,
        portal(),
        namesOf(portalPages).filter(name => !shared.has(name)),
      ),
    ]);
    expect(found.flat()).toEqual([]);
  }, 180_000);

  it('but the playground shows everything without scripts, and charts as tables', async () => {
    for (const [who, all, addresses] of [
      [visitor, pages, addressesOf('lost-2', key_id)],
      [await customerOf(gateway), portalPages, addressesOf(request_id, portal_key_id)],
    ] as const)
      for (const name of namesOf(all)) {
        const { text } = await who.get(addresses[name]?.[0] ?? name);
        const main = /<main[^>]*>(.*)<\/main>/s.exec(text)?.[1]?.replaceAll(/<[^>]*>/g, '');
        expect([name, main]).toEqual([name, expect.stringMatching(/\w/)]);
      }
    const context = await browser.newContext({ javaScriptEnabled: false });
    for (const { context: of } of [watched, customer]) await context.addCookies(await of.cookies());
    const page = await context.newPage();
    await page.goto(`${portal()}keys`);
    await page.getByText('Issue a key').click();
    await page.getByLabel('Name', { exact: true }).fill('without scripts');
    await page.keyboard.press('Enter');
    expect(await page.locator('#secret').textContent()).toMatch(/^sk-sluice-/);
    await page.goto(`${home()}usage?from=2025-09-01&to=2025-09-30`);
    await page.locator('.chart tbody tr').first().waitFor();
    expect(await page.locator('.chart tbody tr:visible').count()).toBe(30);
    await context.close();
  });

  it('shows a visible keyboard focus from the first key press, and is used with the keyboard alone', async () => {
    await open('keys?account=tester');
    await customer.page.goto(`${portal()}keys`);
    for (const [at, links] of [
      [page, ['Accounts', 'Keys', 'Audit log', 'Sign out', 'History', 'Issue a key']],
      [customer.page, ['Usage', 'Requests', 'Sign out', 'Issue a key']],
    ] as const) {
      const seen = await tabbed(at, 'Issue a key');
      expect(seen[0]).toBe('Skip to the content');
      expect(seen).toEqual(expect.arrayContaining([...links]));
    }
  });
});
