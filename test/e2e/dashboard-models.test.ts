import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { faultsInEveryLook, signIn, startBrowser, watchedPage } from '../support/browser.ts';
import { dashboardAdmin } from '../support/dashboard-visitor.ts';
import { ask, type GatewayUnderTest, startGateway, upstreamKey } from '../support/gateway-under-test.ts';

let simulator: Simulator;
let gateway: GatewayUnderTest;
let browser: Browser;

beforeAll(async () => {
  simulator = await startSimulator();
  gateway = await startGateway({
    upstream: 'http://127.0.0.1:9/v1',
    others: [simulator],
    providers: [
      { breaker: { consecutive_failures: 2, open_ms: 600_000, max_open_ms: 600_000 } },
      { max_concurrent: 7 },
    ],
    config: { admin: dashboardAdmin() },
  });
  browser = await startBrowser();
}, 60_000);
afterAll(async () => {
  await browser?.close();
  await gateway?.close();
  await simulator?.close();
});

describe('the page of models and providers', () => {
  it('shows the catalog as clients see it, and the state of each upstream', async () => {
    const { page, context, faults } = await watchedPage(browser);
    await page.goto(`${gateway.adminUrl}/dashboard/models`);
    await signIn(page);
    const providers = page.getByRole('region', { name: 'Providers' }).getByRole('row');
    await providers.nth(2).waitFor();
    expect((await providers.allInnerTexts())[2]).toMatch(/second\s+Active\s+closed\s+none\s+0 of 7/);

    // The first fails at once, and the second answers instead.
    for (let count = 0; count < 3; count++) expect((await gateway.post(ask('Hello?'))).status).toBe(200);
    await page.reload();
    expect((await providers.allInnerTexts())[1]).toMatch(/upstream\s+paused, retrying in \d+ \w+\s+open/);
    const upstreams = page
      .getByRole('region', { name: 'Upstreams of aion-labs/aion-3.5', exact: true })
      .getByRole('row');
    expect((await upstreams.allInnerTexts())[1]).toMatch(/upstream.*\s1\s+1\s+paused/);
    expect((await upstreams.allInnerTexts())[2]).toMatch(/second.*\s2\s+1\s+Active/);

    const seen = (await (await fetch(`${gateway.url}/v1/models`)).json()) as { data: { id: string }[] };
    const shown = await page.locator('details pre').allTextContents();
    expect(shown.map(text => JSON.parse(text))).toEqual(seen.data);
    await page.getByText('As clients see it').first().press('Enter');
    await page.getByText('"context_length"').first().waitFor({ state: 'visible' });
    expect(await page.content()).not.toContain(upstreamKey);
    expect(await faultsInEveryLook(page)).toEqual([]);
    expect(faults).toEqual([]);
    await context.close();
  });
});
