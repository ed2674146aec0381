import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { defaultModels } from '../../src/catalog/default-models.ts';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { faultsInEveryLook, signIn, startBrowser, watchedPage } from '../support/browser.ts';
import { DashboardVisitor, dashboardAdmin, password_hash } from '../support/dashboard-visitor.ts';
import { ask, clientKey, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { until } from '../support/until.ts';

const model = 'aion-labs/aion-3.5';
/** No second provider covers this one. */
const alone_model = 'aion-labs/aion-3.0';
let simulator: Simulator;
let gateway: GatewayUnderTest;
let visitor: DashboardVisitor;
let browser: Browser;

const send = async (id: string, more: object = {}): Promise<void> => {
  const reply = await gateway.post(ask('Hello?', more), { headers: { 'x-request-id': id } });
  await reply.text();
};

/** A request that a second provider answers after the first has failed, one with markup in its id, and sixty others. */
beforeAll(async () => {
  simulator = await startSimulator({ api_key: null });
  gateway = await startGateway({
    upstream: simulator.url,
    config: {
      admin: dashboardAdmin({ users: { olga: { password_hash }, vera: { password_hash, role: 'viewer' } } }),
      plans: { one: { requests_per_minute: 1 } },
      accounts: {
        tester: { keys: [{ value: clientKey }] },
        throttled: { plan: 'one', keys: [{ value: 'sk-throttled' }] },
      },
      providers: {
        upstream: { adapter: 'vllm', base_url: simulator.url },
        broken: { adapter: 'openai', base_url: 'http://127.0.0.1:9/v1' },
      },
      models: [
        {
          ...defaultModels('upstream')[0]!,
          upstreams: [
            { provider: 'broken', model: 'away' },
            { provider: 'upstream', model: 'aion-3.5', priority: 2 },
          ],
        },
        { ...defaultModels('broken').find(({ id }) => id === alone_model)! },
      ],
    } as never,
  });
  browser = await startBrowser();
  visitor = new DashboardVisitor(`${gateway.adminUrl}/dashboard/`);
  await visitor.signIn();
  await send('covered', { stream: true });
  for (let at = 0; at < 60; at++) await send(`of-many-${at}`);
  const alone = gateway.post(ask('Hi', { model: alone_model }), { headers: { 'x-request-id': 'failed' } });
  await (await alone).text();
  const throttled = { authorization: 'Bearer sk-throttled', 'x-request-id': 'throttled' };
  for (let at = 0; at < 2; at++) await (await gateway.post(ask('Hi'), { headers: throttled })).text();
  await send('last');
  await until(async () => (await visitor.get('request?id=last')).status === 200);
  await until(async () => (await visitor.get('request?id=throttled')).text.includes('2 requests came'));
}, 60_000);
afterAll(async () => {
  await browser?.close();
  await gateway.close();
  await simulator.close();
});

/** The cells of a page's tables, a row each. */
const tableRows = (page: string): string[][] =>
  [...page.matchAll(/<tr>(<td.*?)<\/tr>/gs)].map(([, row = '']) =>
    [...row.matchAll(/<td[^>]*>(.*?)<\/td>/gs)].map(([, cell = '']) =>
      cell.replaceAll(/<[^>]*>/g, '').trim(),
    ),
  );

describe('the page of one request', () => {
  it('shows how it ended, what it used and every attempt', async () => {
    const { status, text } = await visitor.get('request?id=covered');
    expect(status).toBe(200);
    const [failed, answered] = tableRows(text);
    expect(failed).toEqual([
      'broken',
      'away',
      expect.stringMatching(/ s$/),
      '0.000 s',
      'none',
      '–',
      expect.stringMatching(/ s$/),
      'failed unreachable',
      expect.stringMatching(/^connect ECONNREFUSED (?!127)/),
    ]);
    expect(answered!.slice(0, 2)).toEqual(['upstream', 'aion-3.5']);
    expect([answered![4], answered![7]]).toEqual(['200', 'completed']);
    expect(answered![5]).toMatch(/^\d+\.\d+ s$/);
    expect(text).toContain(`<dt>Model</dt><dd>${model}</dd>`);
    expect(text).toContain('chat.completions, streamed');
    expect(text).toMatch(/<dt>Cost<\/dt><dd>.*\$/);
  });

  it('answers 404 with advice for an id that no request has, and shows it as text', async () => {
    const { status, text } = await visitor.get(
      `request?${new URLSearchParams({ id: '<script>x</script>' })}`,
    );
    expect(status).toBe(404);
    expect(text).toContain('The ledger has no request with this id.');
    expect(text).toContain('&lt;script&gt;x&lt;/script&gt;');
    expect(text).not.toContain('<script>x');
  });

  it('has a timeline of stages and attempts with the figures that its bars show', async () => {
    const { text } = await visitor.get('request?id=covered');
    const table = /aria-label="Timeline".*?<\/table>/s.exec(text)![0];
    const spans = tableRows(table);
    const names = spans.map(([name]) => name);
    expect(names).toEqual(
      expect.arrayContaining(['auth onHeaders', 'Attempt 1 broken', 'Attempt 2 upstream']),
    );
    expect(names[0]).toContain('onHeaders');
    const begins = spans.map(([, begin = '']) => Number.parseFloat(begin));
    expect(begins).toEqual(begins.toSorted((a, b) => a - b));
    for (const [, , took] of spans) expect(took).toMatch(/^[\d.\u202f]+\u00a0ms$/);
    expect(table.match(/<svg class="span" aria-hidden="true"/g)).toHaveLength(spans.length);
    expect((await visitor.get('request?id=throttled')).text).toContain('rate-limit');
  });

  it('says which limit refused it', async () => {
    const { text } = await visitor.get('request?id=throttled');
    expect(text).toContain('<code>rate_limited</code>');
    expect(text).toContain('<dt>Refused by</dt><dd>the limit <code>requests_per_minute</code></dd>');
    expect(text).toContain('It ended before a provider was called.');
  });

  it('shows what providers said to admins alone', async () => {
    const viewer = new DashboardVisitor(visitor.base);
    await viewer.signIn(undefined, 'vera');
    const { text } = await viewer.get('request?id=failed');
    expect(text).toContain('failed</span> unreachable');
    expect(text).not.toContain('ECONNREFUSED');
    expect((await visitor.get('request?id=failed')).text).toContain('ECONNREFUSED');
  });

  it('is for operators alone', async () => {
    const stranger = new DashboardVisitor(visitor.base);
    for (const page of ['request?id=covered', 'requests'])
      expect((await stranger.get(page)).status).toBe(303);
  });
});

describe('the list of requests', () => {
  it('has the newest first, a page at a time, each with a link to its page', async () => {
    const first = (await visitor.get('requests')).text;
    expect(tableRows(first)).toHaveLength(50);
    expect(first).toContain('href="request?id=last"');
    const next = /href="(requests\?after=[^"]*)" rel="next"/.exec(first)![1]!.replaceAll('&amp;', '&');
    const second = (await visitor.get(next)).text;
    expect(tableRows(second)).toHaveLength(15);
    expect(second).toContain('href="request?id=covered"');
    expect(second).not.toContain('rel="next"');
  });

  it('is read back to the newest, a page at a time', async () => {
    const linkIn = (text: string, rel: string) =>
      new RegExp(`href="([^"]*)" rel="${rel}"`).exec(text)?.[1]?.replaceAll('&amp;', '&');
    const first = (await visitor.get('requests?since=all')).text;
    expect(linkIn(first, 'prev')).toBeUndefined();
    const second = (await visitor.get(linkIn(first, 'next')!)).text;
    // Fifty are newer than the second page, which is the first page.
    const back = (await visitor.get(linkIn(second, 'prev')!)).text;
    expect(tableRows(back)).toEqual(tableRows(first));
    expect(linkIn(back, 'prev')).toBeUndefined();
    // More are newer than the oldest: the nearest fifty of them are shown.
    const idsIn = (text: string) => [...text.matchAll(/href="request\?id=([^"]*)"/g)].map(([, id]) => id);
    const oldest_ms = Date.parse(/.*<time datetime="([^"]*)"/s.exec(second)![1]!);
    const near = (await visitor.get(`requests?since=all&before=${oldest_ms}_zzz`)).text;
    expect(idsIn(near)).toEqual([...idsIn(first), ...idsIn(second)].slice(-51, -1));
    expect(linkIn(near, 'prev')).toBeDefined();
    expect(linkIn(near, 'next')).toBeDefined();
  });

  it.each([
    ['end=failed', 2],
    ['end=refused', 1],
    ['end=upstream_failed', 1],
    ['end=completed&provider=upstream&since=all', 50],
    ['end=client_gone', 0],
    ['provider=broken', 1],
    ['model=aion-labs%2Faion-3.5&since=hour', 50],
    ['model=no%2Fsuch', 0],
    ['key=key_none', 0],
    ['end=nonsense&since=nonsense&until=nonsense', 50],
    ['error_type=rate_limit_error', 1],
    ['error_type=none_such', 0],
    ['code=rate_limited', 1],
    ['failed_at=upstream', 0],
    ['failed_at=broken&provider=broken', 1],
    ['provider=(none)', 1],
    ['model=(none)', 1],
    ['since=2001-01-01T00:00Z&until=2001-01-02T00:00Z', 0],
    ['since=2001-01-01T00:00Z&end=failed', 2],
  ])('is filtered by the address: %s', async (query, expected) => {
    expect(tableRows((await visitor.get(`requests?${query}`)).text)).toHaveLength(expected);
  });

  it('keeps its filters from page to page', async () => {
    const { text } = await visitor.get('requests?provider=upstream&since=hour');
    expect(text).toMatch(/href="requests\?provider=upstream&amp;since=hour&amp;after=[^"]*" rel="next"/);
    expect(text).toMatch(/<option value="hour" selected>/);
  });

  it('can be of any time, which stays in the form', async () => {
    const { text } = await visitor.get(
      'requests?since=2001-01-01T00:00Z&until=2001-01-02T00:00Z&account=tester',
    );
    expect(text).toContain('No request matches in 2001-01-01 00:00 to 2001-01-02 00:00.');
    expect(text).toMatch(/<option value="2001-01-01T00:00Z" selected>2001-01-01 00:00 to 2001-01-02 00:00</);
    expect(text).toContain('<input type="hidden" name="until" value="2001-01-02T00:00Z">');
  });

  it('can be of one account', async () => {
    expect(tableRows((await visitor.get('requests?account=tester')).text)).toHaveLength(50);
    expect((await visitor.get('requests?account=nobody')).text).toContain(
      'No request matches in the last 24 hours.',
    );
  });

  it.each(['after=x', 'after=1_', "after=1_'%20OR%201=1", 'before=x', "before=1_'%20OR%201=1"])(
    'takes a broken link (%s) for some page',
    async query => {
      expect((await visitor.get(`requests?${query}`)).status).toBe(200);
    },
  );

  it('shows new requests by itself while the switch is on, with its filters, and none when it is off', async () => {
    const { page, context, faults } = await watchedPage(browser);
    await page.goto(`${gateway.adminUrl}/dashboard/requests?account=throttled&since=hour`);
    await signIn(page);
    await page.goto(`${gateway.adminUrl}/dashboard/requests?account=throttled&since=hour`);
    const rows = page.locator('tbody tr');
    expect(await rows.count()).toBe(2);
    const live = page.getByRole('button', { name: 'Live' });
    await live.click();
    await page.getByText('live', { exact: true }).waitFor();
    expect(page.url()).toMatch(/account=throttled&since=hour&live=yes$/);
    const refused = { authorization: 'Bearer sk-throttled', 'x-request-id': 'seen-live' };
    await (await gateway.post(ask('Hi'), { headers: refused })).text();
    await send('of-another-account');
    await page.locator('a[href="request?id=seen-live"]').waitFor();
    expect(await rows.count()).toBe(3);
    expect(await faultsInEveryLook(page)).toEqual([]);
    await live.click();
    expect(page.url()).toMatch(/account=throttled&since=hour$/);
    expect(await live.getAttribute('aria-pressed')).toBe('false');
    expect(faults).toEqual([]);
    await context.close();
  });
});

describe('a request that was refused', () => {
  it('has on its page and in the list what its client was told, and which field was at fault', async () => {
    await send('refused', { temperature: 9 });
    await until(async () => (await visitor.get('request?id=refused')).status === 200);
    const { text } = await visitor.get('request?id=refused');
    const [, message = ''] = /<dt>Reason<\/dt><dd>(temperature: [^<]*) <span/.exec(text)!;
    expect(text).toContain('<code>temperature</code>');
    expect((await visitor.get('requests')).text).toContain(`reason">${message}</span>`);
  });
});
