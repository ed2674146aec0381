import { afterEach, describe, expect, it } from '@jest/globals';
import express, { type Express } from 'express';
import type { GatewayOptions } from '../../src/index.ts';
import { DashboardVisitor, dashboardAdmin, operator } from '../support/dashboard-visitor.ts';
import { startApp } from '../support/express-app.ts';
import { closeMounted, mountable } from '../support/mounted-gateway.ts';

afterEach(closeMounted);

const upstream = { url: 'http://127.0.0.1:9/v1' };

/** An application with the dashboard at `/ops`, and somebody who has not signed in. */
async function mounted(
  options: GatewayOptions = {},
  before: (app: Express) => unknown = () => {},
  admin: object = {},
) {
  const gateway = await mountable(upstream, { admin } as object, options);
  const { url } = await startApp(app => {
    before(app);
    app.use('/ops', gateway.dashboard);
    app.use((_request, response) => void response.status(418).send('parent'));
  });
  return { url, visitor: new DashboardVisitor(`${url}/ops/`) };
}

/** As a parent application tells who is signed in there. */
const operatorOf: GatewayOptions['operatorOf'] = ({ headers }) => headers['x-user'] as string | undefined;

describe('the dashboard in a parent application', () => {
  it('leaves its paths to the parent when no sign-in is configured', async () => {
    const { visitor } = await mounted();
    for (const page of ['', 'accounts', 'sign-in', 'assets/style.css'])
      expect(await visitor.get(page)).toMatchObject({ status: 418, text: 'parent' });
  });

  it('has its own sign-in at its mount path, with relative links only', async () => {
    const { url, visitor } = await mounted({}, () => {}, dashboardAdmin());
    const bare = await fetch(`${url}/ops`, { redirect: 'manual' });
    expect([bare.status, bare.headers.get('location')]).toEqual([303, 'ops/']);
    expect((await visitor.get('')).location).toBe('sign-in');
    expect((await visitor.signIn()).location).toBe('.');
    const { text } = await visitor.get('accounts');
    expect(text).toContain(operator.name);
    expect(text).not.toMatch(/(href|src|action)="\//);
    expect((await fetch(`${url}/elsewhere`)).status).toBe(418);
  });

  it('answers a path of any depth with a page that finds its style', async () => {
    const { url } = await mounted({}, () => {}, dashboardAdmin());
    for (const path of ['none', 'accounts/acme', 'a/b/']) {
      const address = `${url}/ops/${path}`;
      const missing = await fetch(address);
      const [, style = ''] = /rel="stylesheet" href="([^"]+)"/.exec(await missing.text())!;
      expect([missing.status, new URL(style, address).href]).toEqual([404, `${url}/ops/assets/style.css`]);
    }
  });

  it('accepts the user of the parent, names them in the audit log, and asks for no password', async () => {
    const { visitor } = await mounted({ operatorOf });
    const as = (name: string) => ({ 'x-user': name });
    const refused = await visitor.get('accounts');
    expect([refused.status, refused.text]).toEqual([
      403,
      expect.stringContaining('You may not use this dashboard.'),
    ]);
    expect((await visitor.get('accounts', as('ada'))).status).toBe(200);
    expect((await visitor.post('accounts', { id: 'acme' }, as('ada'))).status).toBe(303);
    expect((await visitor.get('audit', as('ada'))).text).toMatch(/class="name">ada<\/td>/);
    expect((await visitor.get('sign-in', as('ada'))).status).toBe(404);
  });

  it('accepts a form only from the user it was made for', async () => {
    const { visitor } = await mounted({ operatorOf });
    await visitor.get('accounts', { 'x-user': 'ada' });
    for (const headers of [{ 'x-user': 'bob' }, {} as Record<string, string>])
      expect((await visitor.post('accounts', { id: 'acme' }, headers)).status).toBe(403);
    expect((await visitor.get('account?id=acme', { 'x-user': 'ada' })).status).toBe(404);
  });

  it('accepts forms that the parent has already parsed', async () => {
    const { visitor } = await mounted(
      {},
      app => app.use(express.urlencoded({ extended: true })),
      dashboardAdmin(),
    );
    await visitor.signIn();
    await visitor.get('accounts');
    expect((await visitor.post('accounts', { id: 'acme' })).location).toBe('account?id=acme');
  });
});
