import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { portalPages } from '../../src/dashboard/portal/index.ts';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import {
  faultsInEveryLook,
  type Session,
  signIn,
  startBrowser,
  type WatchedPage,
  watchedPage,
} from '../support/browser.ts';
import { dashboardAdmin, operator } from '../support/dashboard-visitor.ts';
import { ask, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { portalSection } from '../support/portal-visitor.ts';
import { until } from '../support/until.ts';

let simulator: Simulator;
let gateway: GatewayUnderTest;
let browser: Browser;
let watched: WatchedPage;
let session: Session;
let key_id: string;
const request_id = 'a-request-of-acme';

const home = () => `${gateway.url}/portal/`;

beforeAll(async () => {
  simulator = await startSimulator();
  gateway = await startGateway({
    upstream: simulator,
    config: {
      admin: dashboardAdmin(),
      portal: portalSection(),
      plans: { small: { requests_per_minute: 10, usd_per_month: 20 } },
      accounts: { acme: { plan: 'small' }, rival: {} },
    },
  });
  browser = await startBrowser();
  watched = await watchedPage(browser);
  const { page } = watched;
  await page.goto(home());
  await page.getByLabel('Name').fill('carla');
  await page.getByLabel('Password').fill(operator.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('link', { name: 'Keys', exact: true }).click();
  await page.getByLabel('Name').fill('billing');
  // Twice, as with an ordinary double click: one key is issued.
  await page.getByRole('button', { name: 'Issue key' }).dblclick();
  const key = (await page.locator('#secret').textContent())!;
  key_id = new URL(page.url()).searchParams.get('id')!;
  const headers = { authorization: `Bearer ${key}`, 'x-request-id': request_id };
  await gateway.post(ask('Hello?'), { headers });
  await until(async () => (await page.goto(`${home()}request?id=${request_id}`))!.status() === 200);
  session = await watched.context.storageState();
}, 60_000);
afterAll(async () => {
  await browser?.close();
  await gateway?.close();
  await simulator?.close();
});

/** Pages with a document of their own, with what they show. */
const documents = portalPages
  .map(({ name }) => name)
  .filter(name => !['usage-csv', 'playground-run', 'playground-record'].includes(name))
  .map(name => (['issued', 'key', 'rotate', 'revoke'].includes(name) ? `${name}?id=KEY` : name))
  .map(name => (name === 'request' ? `request?id=${request_id}` : name));

describe('the portal in a browser', () => {
  it.each([...documents, 'usage?from=2020-01-01&to=2020-01-02', 'nothing-here', 'invitation', 'sign-in'])(
    'passes the accessibility checks in every look: /%s',
    async name => {
      const { page, faults } = watched;
      await page.goto(home() + name.replace('KEY', key_id));
      expect(await faultsInEveryLook(page)).toEqual([]);
      expect(faults.filter(fault => !fault.includes('404'))).toEqual([]);
    },
  );

  it('is opened to customers on pages of the dashboard that pass the same checks', async () => {
    const { page, context, faults } = await watchedPage(browser);
    await page.goto(`${gateway.adminUrl}/dashboard/account?id=acme`);
    await signIn(page);
    await page.getByLabel('Name or e-mail address').fill('nora@example.org');
    await page.getByRole('button', { name: 'Invite to the portal' }).click();
    await page.getByRole('button', { name: 'Copy link' }).waitFor();
    expect(await faultsInEveryLook(page)).toEqual([]);
    const link = (await page.locator('#secret').textContent())!;
    await page.getByRole('link', { name: 'To the account acme' }).click();
    await page.getByRole('button', { name: 'Remove: nora@example.org' }).waitFor();
    expect(await faultsInEveryLook(page)).toEqual([]);
    await page.goto(link);
    expect(await faultsInEveryLook(page)).toEqual([]);
    expect(faults).toEqual([]);
    await context.close();
  });

  it('shows everything but the playground without scripts', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false, storageState: session });
    const page = await context.newPage();
    for (const name of documents.filter(one => one !== 'playground')) {
      await page.goto(home() + name.replace('KEY', key_id));
      expect([name, await page.locator('main').textContent()]).toEqual([name, expect.stringMatching(/\S/)]);
    }
    await page.goto(`${home()}keys`);
    await page.getByLabel('Name').fill('without scripts');
    await page.keyboard.press('Enter');
    expect(await page.locator('#secret').textContent()).toMatch(/^sk-sluice-/);
    await context.close();
  });

  it('is used with the keyboard alone', async () => {
    const { page, context } = await watchedPage(browser, { session });
    await page.goto(`${home()}keys`);
    const seen: string[] = [];
    for (let presses = 0; presses < 40 && !seen.includes('Issue key'); presses++) {
      await page.keyboard.press('Tab');
      const [name, outline] = await page.evaluate<[string, string]>(
        `[document.activeElement.textContent.trim() || document.activeElement.name || '', getComputedStyle(document.activeElement).outlineStyle]`,
      );
      expect([name, outline]).toEqual([name, 'solid']);
      seen.push(name);
    }
    expect(seen[0]).toBe('Skip to the content');
    expect(seen).toEqual(expect.arrayContaining(['Usage', 'Requests', 'Sign out', 'name', 'Issue key']));
    await context.close();
  });
});
