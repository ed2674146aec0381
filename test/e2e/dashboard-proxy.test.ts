import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { capturedLog } from '../support/captured-log.ts';
import { DashboardVisitor, dashboardAdmin } from '../support/dashboard-visitor.ts';
import { type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';

const { log, lines } = capturedLog();
let near: GatewayUnderTest;
let far: GatewayUnderTest;

const proxy = {
  roles: { anna: 'admin', vera: 'viewer' },
  role_header: 'X-Forwarded-Groups',
  header_roles: { support: 'operator', staff: 'viewer' },
} as const;

beforeAll(async () => {
  const gateway = (addresses: string[], options = {}) =>
    startGateway({
      upstream: 'http://127.0.0.1:9/v1',
      config: { admin: dashboardAdmin({ proxy: { ...proxy, addresses } }) },
      options,
    });
  near = await gateway(['192.0.2.0/24', '127.0.0.0/8']);
  far = await gateway(['192.0.2.0/24', '::1', '127.0.0.2'], { log });
});
afterAll(() => Promise.all([near?.close(), far?.close()]));

const visitorOf = ({ adminUrl }: GatewayUnderTest) => new DashboardVisitor(`${adminUrl}/dashboard/`);

async function seen(headers: Record<string, string>, gateway = near): Promise<string | number> {
  const { status, text } = await visitorOf(gateway).get('', headers);
  return /class="muted who">([^<]+)</.exec(text)?.[1] ?? status;
}

/** The answer to a request with these header lines, which may have the same name. */
function statusFor(...headers: string[]): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const url = `${near.adminUrl}/dashboard/`;
    request(url, { headers: ['host', '127.0.0.1', ...headers] }, response => {
      void text(response).then(() => resolve(response.statusCode));
    })
      .on('error', reject)
      .end();
  });
}

describe('the header of a trusted proxy', () => {
  it('names who uses the dashboard, with the role of the name or of a group', async () => {
    expect(await seen({ 'x-forwarded-user': 'anna' })).toBe('anna');
    expect(await seen({ 'x-forwarded-user': 'vera', 'x-forwarded-groups': 'support' })).toBe('vera · viewer');
    const groups = { 'x-forwarded-groups': 'sales, staff, support' };
    expect(await seen({ 'x-forwarded-user': 'otto', ...groups })).toBe('otto · operator');
  });

  it('lets nobody in who has no role', async () => {
    const { status, text } = await visitorOf(near).get('', { 'x-forwarded-user': '<eve>' });
    expect(status).toBe(403);
    expect(text).toContain('The proxy names you &lt;eve&gt;, who is not let in.');
    expect(await seen({ 'x-forwarded-user': 'constructor' })).toBe(403);
    expect(await seen({ 'x-forwarded-user': 'eve', 'x-forwarded-groups': 'toString,sales' })).toBe(403);
  });

  it('is refused if it is repeated or has several names', async () => {
    expect(await seen({ 'x-forwarded-user': 'anna, eve' })).toBe(400);
    expect(await statusFor('x-forwarded-user', 'eve', 'x-forwarded-user', 'anna')).toBe(400);
  });

  it('takes a second header of groups for nothing', async () => {
    const groups = ['x-forwarded-groups', 'support', 'x-forwarded-groups', 'sales'];
    expect(await statusFor('x-forwarded-user', 'otto', ...groups)).toBe(403);
  });

  it('works beside passwords', async () => {
    expect(await seen({})).toBe(303);
    const visitor = visitorOf(near);
    expect((await visitor.signIn()).status).toBe(303);
    expect((await visitor.get('')).text).toContain('olga');
  });

  it('changes who uses the browser at the next request, and a session of it is of no use without it', async () => {
    const visitor = visitorOf(near);
    const roleOf = async (name: string) => {
      const { text } = await visitor.get('', { 'x-forwarded-user': name });
      return /class="muted who">([^<]+)</.exec(text)?.[1];
    };
    expect([await roleOf('anna'), await roleOf('vera')]).toEqual(['anna', 'vera · viewer']);
    expect(await roleOf('anna')).toBe('anna');
    expect((await visitor.get('')).status).toBe(303);
  });

  it('is ignored on other connections, whatever other headers say, and logged once a minute', async () => {
    for (const more of [{}, { 'x-forwarded-for': '192.0.2.1' }, { 'x-real-ip': '127.0.0.2' }])
      expect(await seen({ 'x-forwarded-user': 'anna', ...more }, far)).toBe(303);
    const logged = lines.filter(({ msg }) => msg.includes('not from an address of admin.proxy'));
    expect(logged).toEqual([expect.objectContaining({ address: '127.0.0.1', header: 'x-forwarded-user' })]);
  });
});
