import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { faultsInEveryLook, startBrowser, watchedPage } from '../support/browser.ts';
import { dashboardAdmin } from '../support/dashboard-visitor.ts';
import { type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { type OpenidProvider, startOpenidProvider } from '../support/openid-provider.ts';

let browser: Browser;
let provider: OpenidProvider;
let gateway: GatewayUnderTest;

beforeAll(async () => {
  [browser, provider] = await Promise.all([startBrowser(), startOpenidProvider()]);
  const { issuer, client_id, client_secret } = provider;
  const oidc = { issuer, client_id, client_secret, roles: { 'anna@example.com': 'viewer' } };
  gateway = await startGateway({
    upstream: 'http://127.0.0.1:9/v1',
    config: { admin: dashboardAdmin({ oidc }) },
  });
  // As another site to the browser, which has no strict cookies for it.
  provider.open(`${gateway.adminUrl.replace('127.0.0.1', 'localhost')}/dashboard/sign-in-callback`);
});
afterAll(async () => {
  await browser?.close();
  await Promise.all([gateway?.close(), provider?.close()]);
});

const home = () => `${gateway.adminUrl.replace('127.0.0.1', 'localhost')}/dashboard/`;

describe('a browser that comes back from an OpenID provider of another site', () => {
  it('is signed in on the page that was asked for, with nothing blocked', async () => {
    const { page, faults } = await watchedPage(browser);
    await page.goto(`${home()}keys?all=yes`);
    const way = page.getByRole('link', { name: 'Sign in with SSO' });
    await way.waitFor();
    expect(await faultsInEveryLook(page)).toEqual([]);
    provider.next = { email: 'anna@example.com', email_verified: true };
    await way.click();
    await page.getByText('anna@example.com · viewer').waitFor();
    expect(page.url()).toBe(`${home()}keys?all=yes`);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await way.waitFor();
    await page.goBack();
    await way.waitFor();
    expect(faults.filter(fault => !fault.startsWith('request: '))).toEqual([]);
  });

  it('is shown why somebody is not let in', async () => {
    const { page } = await watchedPage(browser);
    await page.goto(home());
    provider.next = { email: 'eve@example.com', email_verified: true };
    await page.getByRole('link', { name: 'Sign in with SSO' }).click();
    await page.getByText('You signed in as eve@example.com, who is not let in.').waitFor();
    expect(await faultsInEveryLook(page)).toEqual([]);
  });
});
