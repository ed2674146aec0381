import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import type { LedgerRow } from '../../src/stores/records/ledger-records.ts';
import { accessibilityFaults, startBrowser, type WatchedPage, watchedPage } from '../support/browser.ts';
import { dashboardAdmin, operator } from '../support/dashboard-visitor.ts';
import { clientKey, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { until } from '../support/raw-client.ts';
import { type RecordsPlace, recordsPlace } from '../support/records-place.ts';

let simulator: Simulator;
let place: RecordsPlace;
let gateway: GatewayUnderTest;
let browser: Browser;
const open: WatchedPage[] = [];

beforeAll(async () => {
  simulator = await startSimulator();
  place = await recordsPlace();
  gateway = await startGateway({
    upstream: simulator,
    config: { admin: dashboardAdmin(), stores: place.stores },
  });
  browser = await startBrowser();
}, 60_000);
afterEach(async () => {
  await Promise.all(open.splice(0).map(({ context }) => context.close()));
});
afterAll(async () => {
  await browser?.close();
  await gateway?.close();
  await place?.remove();
  await simulator?.close();
});

/** The playground of somebody who has just signed in, with their key. */
async function playground(options: Parameters<typeof watchedPage>[1] = {}): Promise<WatchedPage> {
  const watched = await watchedPage(browser, options);
  open.push(watched);
  const { page } = watched;
  await page.goto(`${gateway.adminUrl}/dashboard/playground`);
  await page.getByLabel('Name').fill(operator.name);
  await page.getByLabel('Password').fill(operator.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Playground' }).waitFor();
  await page.getByLabel('API key').fill(clientKey);
  return watched;
}

async function ask({ page }: WatchedPage, prompt: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Prompt' }).fill(prompt);
  await page.getByRole('button', { name: 'Send' }).click();
}

const said = ({ page }: WatchedPage, text: string) => page.getByRole('status').getByText(text).waitFor();
const used = ({ page }: WatchedPage, name: string) => page.locator(`[data-used="${name}"]`).textContent();

/** What the ledger says of the request that the page has made. */
async function recordOf({ page }: WatchedPage): Promise<LedgerRow> {
  const request_id = (await page.locator('#request-id').textContent())!.replace('Request ', '');
  let found: LedgerRow | undefined;
  await until(async () => {
    const rows = await place.look(store => store.ledger.list({ limit: 20 }));
    found = rows.find(row => row.request_id === request_id);
    return found !== undefined;
  });
  return found!;
}

describe('the playground', () => {
  it('streams an answer with its reasoning apart, counted and billed as the ledger says', async () => {
    const watched = await playground();
    const { page, faults } = watched;
    await ask(watched, 'Why do rivers bend? [[sim:tps=60 reasoning_tokens=30 tokens=40]]');
    await said(watched, 'Reasoning…');
    const running = Number(await used(watched, 'completion'));
    await said(watched, 'Answering…');
    await said(watched, 'Complete.');
    const [reasoning, text] = await Promise.all(
      ['#reasoning-text', '#text'].map(id => page.locator(id).textContent()),
    );
    expect([reasoning!.length > 50, text!.length > 50, text!.includes(reasoning!)]).toEqual([
      true,
      true,
      false,
    ]);
    const row = await recordOf(watched);
    expect(running).toBeLessThan(row.completion_tokens);
    expect(row).toMatchObject({
      account: 'tester',
      end_reason: 'completed',
      status: 200,
      reasoning_tokens: 30,
    });
    for (const [name, value] of [
      ['prompt', row.prompt_tokens],
      ['cached', row.cached_tokens],
      ['completion', row.completion_tokens],
      ['reasoning', row.reasoning_tokens],
      ['cost', `$${row.cost_usd}`],
    ] as const)
      expect([name, await used(watched, name)]).toEqual([name, String(value)]);
    expect(await used(watched, 'first-token')).toMatch(/^\d+\sms$/);
    expect(Number(await used(watched, 'speed'))).toBeGreaterThan(5);
    expect(await accessibilityFaults(page)).toEqual([]);
    expect(faults).toEqual([]);
  });

  it.each(['button', 'Escape'])('cancels by %s: the upstream is left and what came is settled', async how => {
    const watched = await playground();
    const { page } = watched;
    await ask(watched, 'Tell me a very long story. [[sim:tokens=endless tps=50 reasoning_tokens=5]]');
    await said(watched, 'Answering…');
    if (how === 'button') await page.getByRole('button', { name: 'Cancel' }).click();
    else await page.keyboard.press('Escape');
    await said(watched, 'Cancelled.');
    expect(await recordOf(watched)).toMatchObject({ end_reason: 'client_gone', status: 200 });
    expect(gateway.gateway.inFlight).toBe(0);
    expect(watched.faults).toEqual([]);
  });
});
