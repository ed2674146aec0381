import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { faultsInEveryLook, signIn, startBrowser, watchedPage } from '../support/browser.ts';
import { DashboardVisitor, dashboardAdmin } from '../support/dashboard-visitor.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { ask, clientKey, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';

let simulator: Simulator;
let gateway: GatewayUnderTest;
let browser: Browser;

beforeAll(async () => {
  simulator = await startSimulator();
  gateway = await startGateway({
    upstream: simulator,
    config: {
      admin: dashboardAdmin(),
      plans: { small: { requests_per_minute: 50, tokens_per_day: 10_000_000 } },
      accounts: { tester: { plan: 'small', keys: [{ value: clientKey }] } },
    },
  });
  browser = await startBrowser();
}, 60_000);
afterAll(async () => {
  await browser?.close();
  await gateway?.close();
  await simulator?.close();
});

interface Figures {
  readonly requests: number;
  readonly errors: number;
  readonly tokens: number;
  readonly in_flight: number;
  readonly first_tokens: readonly { readonly within_s: number | null; readonly count: number }[];
  readonly html: Readonly<Record<string, string>>;
}

describe('the overview', () => {
  it('updates itself while it is open', async () => {
    const { page, context, faults } = await watchedPage(browser);
    await page.goto(`${gateway.adminUrl}/dashboard/`);
    await signIn(page);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.getByText('live, this instance').waitFor();
    expect(await faultsInEveryLook(page)).toEqual([]);

    for (let count = 0; count < 4; count++) await gateway.stream(ask('Hello?'));
    expect((await gateway.post(ask('Hello?', { model: 'no/such' }))).status).toBe(400);
    // Nobody loads the page again.
    await page.getByRole('cell', { name: 'invalid_request_error' }).waitFor();
    await page.locator('[data-figure=first-token]', { hasText: /\d\sm?s · \d/ }).waitFor();
    await page.locator('[data-figure=requests]', { hasText: /\d\.\d/ }).waitFor();
    await page.locator('[data-part=limits]', { hasText: 'Requests per minute' }).waitFor();
    expect(await page.locator('[data-part=limits] a').first().textContent()).toBe('tester');
    expect(await page.locator('[data-part=limits] a').count()).toBe(2);
    expect(await page.locator('.lines polyline').count()).toBe(6);
    expect(await page.locator('[data-part=providers]').textContent()).toContain('Active');
    expect(await faultsInEveryLook(page)).toEqual([]);
    expect(faults).toEqual([]);
    await context.close();
  });
});

describe('the figures of the overview', () => {
  it('match what has been counted', async () => {
    const visitor = new DashboardVisitor(`${gateway.adminUrl}/dashboard/`);
    await visitor.signIn();
    const read = async () => JSON.parse((await visitor.get('overview-figures?full=yes')).text) as Figures;
    const before = await read();
    const reply = (await (await gateway.post(ask('Hello?'))).json()) as { usage: { total_tokens: number } };
    await gateway.stream(ask('Hello?'));
    await gateway.post(ask('Hello?', { model: 'no/such' }));
    const after = await read();
    expect(after.requests - before.requests).toBe(3);
    expect(after.errors - before.errors).toBe(1);
    expect(after.tokens - before.tokens).toBeGreaterThan(reply.usage.total_tokens);
    expect(after.first_tokens.at(-1)).toEqual({
      within_s: null,
      count: before.first_tokens.at(-1)!.count + 1,
    });
    expect(after.in_flight).toBe(0);
    expect(Object.keys(after.html).sort()).toEqual(['cost', 'errors', 'limits', 'providers']);
  });

  it('require a session and do not extend it', async () => {
    const clock = new FakeClock();
    const idle = await startGateway({
      upstream: 'http://127.0.0.1:9/v1',
      config: { admin: dashboardAdmin({ session_idle_ms: 60_000 }) },
      options: { clock },
    });
    try {
      const visitor = new DashboardVisitor(`${idle.adminUrl}/dashboard/`);
      const asking = { 'sec-fetch-dest': 'empty' };
      expect((await visitor.get('overview-figures', asking)).status).toBe(401);
      await visitor.signIn();
      expect((await visitor.get('overview-figures', asking)).status).toBe(200);
      clock.advance(40_000);
      expect((await visitor.get('overview-figures', asking)).status).toBe(200);
      clock.advance(40_000);
      expect((await visitor.get('overview-figures', asking)).status).toBe(401);
      expect((await visitor.get('keys')).status).toBe(303);
    } finally {
      await idle.close();
    }
  });
});
