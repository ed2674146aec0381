import { mkdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { startSimulator } from '../../../src/simulator/server.ts';
import { signIn, startBrowser, watchedPage } from '../../support/browser.ts';
import { pastRows, traffic } from '../../support/dashboard-traffic.ts';
import { dashboardAdmin, operator, operatorAt, portalSection } from '../../support/dashboard-visitor.ts';
import { ask, clientKey, type GatewayUnderTest, startGateway } from '../../support/gateway-under-test.ts';
import { recordsPlace } from '../../support/records-place.ts';
import { defineTool } from '../tool.ts';

const folder = fileURLToPath(new URL('../../../docs/dashboard/', import.meta.url));
const plans = {
  free: { requests_per_minute: 15, tokens_per_minute: 20_000, tokens_per_day: 600_000 },
  standard: {
    requests_per_minute: 100,
    tokens_per_minute: 1_000_000,
    concurrent_requests: 20,
    usd_per_month: 50,
  },
};

/** The accounts of the pictures, their plans, and the names of their keys. */
const accounts = [
  ['acme', 'free', ['billing service', 'nightly report']],
  ['globex', 'standard', ['support bot']],
  ['initech', 'standard', ['editor plug-in', 'translation']],
] as const;

/** Takes the pictures of `docs/dashboard/`: every page, light and dark, of a gateway that has been used a little. */
export const tool = defineTool({
  about: 'Needs Chromium; takes two minutes.',
  async run() {
    await mkdir(folder, { recursive: true });
    const simulator = await startSimulator({ ttft_ms: 150, tokens_per_second: 120 });
    const place = await recordsPlace();
    await place.look(async ({ ledger }) => {
      const rows = pastRows(
        accounts.map(([account]) => account),
        50,
        Date.now(),
      );
      for (let at = 0; at < rows.length; at += 500) await ledger.insert(rows.slice(at, at + 500));
    });
    const second = await startSimulator({ ttft_ms: 250, tokens_per_second: 80 });
    const gateway = await startGateway({
      upstream: simulator,
      others: [second],
      server: { public_url: 'https://llm.example.com' },
      config: { admin: dashboardAdmin(), portal: portalSection(), stores: place.stores, plans },
    });
    const browser = await startBrowser();
    try {
      const home = `${gateway.adminUrl}/dashboard/`;
      const { page } = await watchedPage(browser, { width: 1120 });
      await page.setViewportSize({ width: 1120, height: 900 });
      await page.goto(home);
      await signIn(page);
      const keys = await prepare(gateway);
      // Meanwhile last uses are written down, every fifteen seconds.
      await takeLive(page, home, gateway, keys);
      await takeAll(page, home);
      await takePortal(page, `${gateway.url}/portal/`);
    } finally {
      await browser.close();
      await gateway.close();
      await place.remove();
      await simulator.close();
      await second.close();
    }
    return true;
  },
});

/** Accounts and keys as an operator makes them, used a little. Returns a key of each account. */
async function prepare(gateway: GatewayUnderTest): Promise<string[]> {
  const olga = await operatorAt(gateway);
  const made: string[] = [];
  for (const [account, plan, keys] of accounts) {
    await olga.submit('accounts', { id: account, plan });
    for (const name of keys) {
      const expires = name === 'nightly report' ? 'quarter' : 'never';
      const { key } = await olga.issue(account, { name, expires });
      if (name === keys[0]) made.push(key);
      const headers = { authorization: `Bearer ${key}` };
      for (let left = name === 'billing service' ? 11 : 2; left > 0; left--)
        await (await gateway.post(ask('Why do rivers bend?'), { headers })).text();
    }
  }
  return made;
}

/** Pages that go on below what a picture should show. */
const long = new Set([
  'overview',
  'usage',
  'models',
  'playground',
  'requests',
  'account',
  'limits',
  'portal',
]);

async function take(page: Page, name: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await sleep(500);
    await page.screenshot({ path: `${folder}${name}-${colorScheme}.png`, fullPage: !long.has(name) });
  }
}

/** Takes the overview after 45 s of traffic, then the usage and models pages. */
async function takeLive(page: Page, home: string, gateway: GatewayUnderTest, keys: string[]): Promise<void> {
  await page.goto(`${home}?since=day&by=model`);
  const using = traffic(gateway, keys, 48_000);
  await sleep(45_000);
  await take(page, 'overview');
  await using;
  for (const name of ['usage', 'models', 'requests']) {
    await page.goto(home + name);
    await take(page, name);
  }
  await page.locator('td a[href^="request?"]').nth(3).click();
  await take(page, 'request');
}

/** Two answers whose figures can be seen. */
async function takePlayground(page: Page, home: string): Promise<void> {
  await page.goto(`${home}playground`);
  await page.getByLabel('API key').fill(clientKey);
  await page.getByRole('button', { name: 'Compare two models' }).click();
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText('In the ledger').nth(1).waitFor();
  await take(page, 'playground');
}

async function takeAll(page: Page, home: string): Promise<void> {
  for (const name of ['accounts', 'account?id=acme', 'limits?account=acme', 'keys', 'providers', 'audit']) {
    await page.goto(home + name);
    await take(page, name.split('?')[0]!);
  }
  await page.goto(`${home}keys?account=acme`);
  await page.getByRole('link', { name: 'billing service' }).first().click();
  await take(page, 'key');
  await takePlayground(page, home);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await take(page, 'sign-in');
}

/** What a customer sees. */
async function takePortal(page: Page, home: string): Promise<void> {
  await page.goto(home);
  await signIn(page, operator.password, 'carla');
  await take(page, 'portal');
  await page.goto(`${home}keys`);
  await take(page, 'portal-keys');
}
