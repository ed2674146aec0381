import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import type { Browser, Page } from 'playwright-core';
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
import { dashboardAdmin, operator } from '../support/dashboard-visitor.ts';
import { type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { type RecordsPlace, recordsPlace } from '../support/records-place.ts';

/** Said on the page itself. */
const bound_ms = 5000;

let simulator: Simulator;
let place: RecordsPlace;
let gateways: GatewayUnderTest[];
let browser: Browser;

beforeAll(async () => {
  simulator = await startSimulator();
  place = await recordsPlace();
  const config = {
    admin: dashboardAdmin(),
    stores: place.stores,
    plans: { small: { requests_per_minute: 4 }, large: { requests_per_minute: 1000, usd_per_month: 50 } },
  };
  gateways = [];
  // One after the other: both bring the schema up to date.
  for (const _ of ['one', 'two']) gateways.push(await startGateway({ upstream: simulator, config }));
  browser = await startBrowser();
}, 60_000);
afterAll(async () => {
  await browser?.close();
  await Promise.all((gateways ?? []).map(gateway => gateway.close()));
  await place?.remove();
  await simulator?.close();
});

const home = () => `${gateways[0]!.adminUrl}/dashboard/`;

let session: Session | undefined;

/** A window of the operator, who signs in once and keeps the session. */
async function signedIn(): Promise<WatchedPage> {
  if (session) {
    const watched = await watchedPage(browser, { session });
    await watched.page.goto(home());
    return watched;
  }
  const watched = await newlySignedIn();
  session = await watched.context.storageState();
  return watched;
}

async function newlySignedIn(): Promise<WatchedPage> {
  const watched = await watchedPage(browser);
  await watched.page.goto(home());
  await enter(watched.page);
  return watched;
}

async function enter(page: Page): Promise<void> {
  await signIn(page);
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
}

const clientOf = (gateway: GatewayUnderTest, apiKey: string) =>
  new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0 });

async function answerOf(gateway: GatewayUnderTest, key: string): Promise<string | number> {
  const asked = { model: 'aion-labs/aion-3.5', messages: [{ role: 'user' as const, content: 'Hello?' }] };
  try {
    const reply = await clientOf(gateway, key).chat.completions.create(asked);
    return reply.choices[0]!.message.content ?? '';
  } catch (thrown) {
    if (thrown instanceof OpenAI.APIError) return thrown.status!;
    throw thrown;
  }
}

describe('an operator with a browser', () => {
  it('issues a key that works at once on every instance, and revokes it within 5 s', async () => {
    const { page, context, faults } = await signedIn();
    await page.getByRole('link', { name: 'Accounts', exact: true }).first().click();
    await page.getByLabel('Name', { exact: true }).fill('acme');
    await page.getByLabel('Plan').selectOption('small');
    await page.getByRole('button', { name: 'Create account' }).click();
    await page.getByText('Account acme is created.').waitFor();

    await page.getByLabel('Name', { exact: true }).fill('billing service');
    // Twice, as with an ordinary double click: one key is issued.
    await page.getByRole('button', { name: 'Issue key' }).dblclick();
    const key = (await page.locator('#secret').textContent())!;
    expect(key).toMatch(/^sk-sluice-[\w-]{49}$/);
    await page.getByRole('button', { name: 'Copy key' }).click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(key);
    await page.reload();
    expect(await page.content()).not.toContain(key);
    await page.getByText('A key is shown once').waitFor();

    for (const gateway of gateways) expect(await answerOf(gateway, key)).toEqual(expect.any(String));
    await page.getByRole('link', { name: 'To the account acme' }).click();
    // Each instance counts for itself here: the state is in memory.
    await page.getByText(/1\s+of\s+4/).waitFor();

    await page.getByLabel('Plan').selectOption('large');
    await page.getByRole('button', { name: 'Change plan' }).click();
    await page.getByText('The plan is large now').waitFor();
    await page.locator('.limits').getByText('Dollars per month').waitFor();

    await page.getByRole('link', { name: 'Revoke billing service' }).click();
    await page.getByRole('button', { name: 'Revoke key' }).click();
    await page.getByText('billing service is revoked').waitFor();
    expect(await answerOf(gateways[0]!, key)).toBe(401);
    const revoked_ms = performance.now();
    while ((await answerOf(gateways[1]!, key)) !== 401) {
      expect(performance.now() - revoked_ms).toBeLessThan(bound_ms);
      await sleep(100);
    }

    await page.getByRole('link', { name: 'Audit log', exact: true }).click();
    const changes = await page.locator('tbody tr').allInnerTexts();
    const actions = changes.map(row => row.split('\t')[3]);
    expect(actions.filter(action => action !== 'signed in')).toEqual([
      'revoked the key',
      'changed the account',
      'issued the key',
      'created the account',
    ]);
    expect(changes.every(row => row.includes(operator.name))).toBe(true);
    expect(await page.content()).not.toContain(key);
    expect(faults).toEqual([]);
    await context.close();
  });

  it('cannot enter with a wrong password or with the session of another browser', async () => {
    const { page, context, faults } = await newlySignedIn();
    const other = await watchedPage(browser);
    await other.page.goto(`${home()}keys`);
    expect(other.page.url()).toContain('/sign-in');
    await signIn(other.page, 'wrong');
    await other.page.getByRole('alert').waitFor();
    expect(await accessibilityFaults(other.page)).toEqual([]);
    await enter(other.page);
    expect(other.page.url()).toBe(`${home()}keys`);
    expect(other.faults).toEqual([expect.stringContaining('401')]);

    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    await page.goto(`${home()}keys`);
    expect(page.url()).toContain('/sign-in');
    expect(faults).toEqual([]);
    await context.close();
    await other.context.close();
  });

  it('stays signed in when following a link from another site', async () => {
    const { page, context, faults } = await signedIn();
    await page.goto(home().replace('127.0.0.1', 'localhost').replace('/dashboard/', '/healthz'));
    await page.setContent(`<a href="${home()}keys?all=yes">keys</a>`);
    await page.getByRole('link').click();
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
    expect(page.url()).toBe(`${home()}keys?all=yes`);
    // Of the other page, if it was there for long enough: that it has no icon, and no frame.
    expect(faults.filter(fault => !/404|localhost/.test(fault))).toEqual([]);
    await context.close();
  });

  it('cannot be made to submit a form by a page of another site', async () => {
    const { page, context } = await signedIn();
    await page.goto(home().replace('127.0.0.1', 'localhost').replace('/dashboard/', '/healthz'));
    await page.setContent(
      `<form method="post" action="${home()}accounts"><input name="id" value="forged"><button>Go</button></form>`,
    );
    await page.getByRole('button').click();
    await page.getByRole('heading', { name: 'Sign in' }).or(page.getByText('Error 403')).waitFor();
    await page.goto(`${home()}account?id=forged`);
    await page.getByText('Error 404').waitFor();
    await context.close();
  });
});

describe('every page', () => {
  let watched: WatchedPage;
  let key: string;

  beforeAll(async () => {
    watched = await signedIn();
    key = await place.look(async store => {
      const who = { actor: operator.name, at_ms: Date.now() };
      const { record } = await store.keys.create({ account: 'tester', name: 'kept', expires_ms: null }, who);
      await store.accounts.create({ id: `n${record.id}`, plan: 'small', limits: {} }, who);
      return record.id;
    });
  });
  afterAll(() => watched?.context.close());

  it.each([
    '',
    'requests',
    'request?id=nothing',
    'usage',
    'models',
    'playground',
    'accounts',
    'accounts?search=nobody',
    'account?id=tester',
    'account?id=nKEY',
    'audit?target=nKEY&from=2026-01-01&action=account',
    'keys',
    'keys?search=nobody',
    'key?id=KEY',
    'revoke?id=KEY',
    'rotate?id=KEY',
    'issued?id=KEY',
    'audit',
    'nothing-here',
    'sign-in',
  ])('passes the accessibility checks in every look: /%s', async name => {
    const { page, faults } = watched;
    await page.goto(home() + name.replace('KEY', key));
    expect(await faultsInEveryLook(page)).toEqual([]);
    expect(faults.filter(fault => !fault.includes('404'))).toEqual([]);
  });

  it.each(Object.keys(looks) as (keyof typeof looks)[])(
    'shows a visible keyboard focus from the first key press, %s',
    async look => {
      const { page, context } = await signedIn();
      await setLook(page, look);
      await page.goto(`${home()}account?id=tester`);
      const seen: string[] = [];
      for (let presses = 0; presses < 25; presses++) {
        await page.keyboard.press('Tab');
        const [name, outline] = await page.evaluate<[string, string]>(
          `[document.activeElement.textContent.trim() || document.activeElement.name || '', getComputedStyle(document.activeElement).outlineStyle]`,
        );
        if (seen.includes('Issue key')) break;
        expect([name, outline]).toEqual([name, 'solid']);
        seen.push(name);
      }
      expect(seen[0]).toBe('Skip to the content');
      expect(seen).toEqual(
        expect.arrayContaining(['Accounts', 'Keys', 'Audit log', 'Sign out', 'name', 'Issue key']),
      );
      await context.close();
    },
  );
});
