import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Browser, Locator } from 'playwright-core';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { type Session, signIn, startBrowser, type WatchedPage, watchedPage } from '../support/browser.ts';
import { dashboardAdmin } from '../support/dashboard-visitor.ts';
import { clientKey, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { promptOf } from '../support/playground-page.ts';

/** What people come to the dashboard for, from its start page, with the number of clicks that it takes. */

let simulator: Simulator;
let gateway: GatewayUnderTest;
let browser: Browser;
let session: Session;
let watched: WatchedPage;
let clicks: number;

beforeAll(async () => {
  simulator = await startSimulator();
  gateway = await startGateway({ upstream: simulator, config: { admin: dashboardAdmin() } });
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
