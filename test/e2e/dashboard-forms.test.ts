import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { capturedLog } from '../support/captured-log.ts';
import { DashboardVisitor, dashboardAdmin } from '../support/dashboard-visitor.ts';
import { type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';

const { log, lines } = capturedLog();
let gateway: GatewayUnderTest;
let visitor: DashboardVisitor;
let accounts = 0;

beforeAll(async () => {
  gateway = await startGateway({
    upstream: 'http://127.0.0.1:9/v1',
    config: { admin: dashboardAdmin(), plans: { small: { requests_per_minute: 2 } } },
    options: { log } as object,
  });
});
beforeEach(async () => {
  visitor = new DashboardVisitor(`${gateway.adminUrl}/dashboard/`);
  await visitor.signIn();
  await visitor.get('accounts');
});
afterAll(() => gateway?.close());

const newAccount = () => `made-${++accounts}`;

describe('a dashboard form', () => {
  it('that does not arrive in time is no failure of the page', async () => {
    const server = createServer((incoming, response) => {
      gateway.gateway.dashboard(incoming, response, () => response.end());
      setImmediate(() => incoming.destroy());
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    const head = 'host: x\r\norigin: http://x\r\ncontent-length: 100';
    socket.write(
      `POST /sign-in HTTP/1.1\r\n${head}\r\ncontent-type: application/x-www-form-urlencoded\r\n\r\n`,
    );
    await once(socket, 'close');
    server.close();
    expect((await visitor.signIn('wrong')).status).toBe(401);
    expect(lines.filter(({ level }) => level >= 50)).toEqual([]);
    expect(lines.at(-1)).toMatchObject({ msg: 'sign-in refused' });
  });

  it('changes nothing without its token, with a wrong one, or with one of another browser', async () => {
    const other = new DashboardVisitor(visitor.base);
    await other.signIn();
    await other.get('accounts');
    for (const form_token of ['', 'A'.repeat(43), `${visitor.token}x`, other.token]) {
      const id = newAccount();
      const refused = await visitor.post('accounts', { id, form_token });
      expect([refused.status, refused.text]).toEqual([
        403,
        expect.stringContaining('has expired, or was not made for you'),
      ]);
      expect((await visitor.get(`account?id=${id}`)).status).toBe(404);
    }
  });

  it.each([
    ['of another origin', { origin: 'https://example.org' }],
    ['of another port', { origin: 'http://127.0.0.1:1' }],
    ['of nowhere', { origin: 'null' }],
    ['that the browser says came from elsewhere', { 'sec-fetch-site': 'cross-site' }],
    ['that the browser says came from a neighbour', { 'sec-fetch-site': 'same-site' }],
    ['that no page has sent', { 'sec-fetch-site': 'none' }],
  ])('changes nothing when it is one %s', async (_, headers) => {
    const id = newAccount();
    expect((await visitor.post('accounts', { id }, headers)).status).toBe(403);
    expect((await visitor.get(`account?id=${id}`)).status).toBe(404);
  });

  it('changes nothing without an Origin header', async () => {
    const id = newAccount();
    const body = new URLSearchParams({ id, form_token: visitor.token }).toString();
    const cookie = [...visitor.cookies].map(pair => pair.join('=')).join('; ');
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const headers = { cookie, 'content-type': 'application/x-www-form-urlencoded' };
      request(`${visitor.base}accounts`, { method: 'POST', headers }, reply => {
        reply.resume();
        resolve(reply.statusCode);
      })
        .on('error', reject)
        .end(body);
    });
    expect(status).toBe(403);
  });

  it('is accepted behind a proxy that rewrites Host when Sec-Fetch-Site is same-origin', async () => {
    const headers = { origin: 'https://ops.example.org', 'sec-fetch-site': 'same-origin' };
    expect((await visitor.post('accounts', { id: newAccount() }, headers)).status).toBe(303);
  });

  it('is rejected with a readable message when it is too large or not a form', async () => {
    const large = await visitor.post('accounts', { id: 'x'.repeat(40_000) });
    expect([large.status, large.text]).toEqual([413, expect.stringContaining('larger than the 32768 bytes')]);
    const json = await visitor.post('accounts', {}, { 'content-type': 'application/json' });
    expect(json.status).toBe(400);
  });

  it('is accepted by POST only', async () => {
    const id = newAccount();
    expect((await visitor.get(`issue?account=tester&form_token=${visitor.token}&name=x`)).status).toBe(303);
    await visitor.get(`accounts?id=${id}&form_token=${visitor.token}`);
    expect((await visitor.get(`account?id=${id}`)).status).toBe(404);
    expect((await visitor.get('keys')).text).toContain('There are no active keys.');
    expect((await visitor.post('keys', {})).status).toBe(405);
  });
});

describe('text from operators and clients', () => {
  const hostile = `<script>alert(1)</script>"' onfocus=alert(1)`;

  it('is escaped wherever it is shown', async () => {
    const search = new URLSearchParams({ search: hostile, account: hostile, all: 'yes' });
    const texts = [
      (await visitor.get(`keys?${search}`)).text,
      (await visitor.get(`accounts?${search}`)).text,
      (await visitor.get(`account?${new URLSearchParams({ id: hostile })}`)).text,
      (await visitor.post('accounts', { id: hostile })).text,
    ];
    await visitor.get('account?id=tester');
    await visitor.post('issue?account=tester', { name: hostile });
    for (const page of ['keys', 'audit', `sign-in?${new URLSearchParams({ next: hostile })}`])
      texts.push((await visitor.get(page)).text);
    for (const text of texts) {
      expect(text).toContain('&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39; onfocus');
      expect(text).not.toContain('<script>alert');
    }
  });
});

describe('a dashboard response', () => {
  it.each(['sign-in', 'accounts', 'nothing-here', 'assets/style.css', 'assets/copy.js'])(
    'has the security headers: %s',
    async page => {
      const { headers, text } = await visitor.get(page);
      expect(headers.get('content-security-policy')).toBe(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
      );
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('x-frame-options')).toBe('DENY');
      expect(headers.get('referrer-policy')).toBe('same-origin');
      expect(headers.get('cache-control')).toBe(page.startsWith('assets/') ? 'no-cache' : 'no-store');
      expect(text).not.toMatch(/(src|href|action)="(https?:)?\/\//);
    },
  );

  it('is 304 for an unchanged asset', async () => {
    const first = await visitor.get('assets/style.css');
    const again = await visitor.get('assets/style.css', { 'if-none-match': first.headers.get('etag')! });
    expect([again.status, again.text]).toEqual([304, '']);
  });

  it('serves no file outside the assets', async () => {
    for (const page of [
      'assets/../dashboard.ts',
      'assets/%2e%2e/dashboard.ts',
      'assets/',
      'assets/constructor',
    ])
      expect((await visitor.get(page)).status).toBe(404);
  });
});
