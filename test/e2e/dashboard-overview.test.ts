import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, Request } from 'playwright-core';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { faultsInEveryLook, signIn, startBrowser, watchedPage } from '../support/browser.ts';
import { DashboardVisitor, dashboardAdmin, operator, password_hash } from '../support/dashboard-visitor.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { ask, clientKey, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { liveEvents } from '../support/live-events.ts';
import { until } from '../support/until.ts';

let simulator: Simulator;
let gateway: GatewayUnderTest;
let browser: Browser;

beforeAll(async () => {
  simulator = await startSimulator();
  gateway = await startGateway({
    upstream: simulator,
    config: {
      admin: dashboardAdmin({
        users: { olga: { password_hash }, 'without-money': { password_hash, role: 'operator' } },
      }),
      plans: {
        small: { requests_per_minute: 50, tokens_per_day: 10_000_000 },
        tiny: { requests_per_minute: 5 },
      },
      accounts: {
        tester: { plan: 'small', keys: [{ value: clientKey }] },
        nearly: { plan: 'tiny', keys: [{ value: 'sk-nearly' }] },
      },
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
  readonly failures: number;
  readonly tokens: number;
  readonly in_flight: number;
  readonly first_tokens: readonly { readonly within_s: number | null; readonly count: number }[];
  readonly html: Readonly<Record<string, string>>;
}

const nearly = { headers: { authorization: 'Bearer sk-nearly' } };
const signedIn = async (name?: string): Promise<DashboardVisitor> => {
  const visitor = new DashboardVisitor(`${gateway.adminUrl}/dashboard/`);
  await visitor.signIn(operator.password, name);
  return visitor;
};
const figuresIn = (event: { readonly data: string } | undefined) => JSON.parse(event!.data) as Figures;

describe('the overview', () => {
  it('updates itself while it is open', async () => {
    const { page, context, faults } = await watchedPage(browser);
    await page.goto(`${gateway.adminUrl}/dashboard/`);
    await signIn(page);
    await page.getByText('No account has used 80 % of a limit.').waitFor();
    await page.getByText('live, this instance').waitFor();

    for (let count = 0; count < 4; count++) await gateway.stream(ask('Hello?'), nearly);
    expect((await gateway.post(ask('Hello?', { model: 'no/such' }))).status).toBe(400);
    // Nobody loads the page again.
    await page.getByRole('link', { name: 'invalid_request_error' }).waitFor();
    await page.locator('[data-figure=first-token]', { hasText: /\d\sm?s · \d/ }).waitFor();
    await page.locator('[data-figure=requests]', { hasText: /\d\.\d/ }).waitFor();
    await page.locator('[data-part=limits]', { hasText: /4 of 5/ }).waitFor();
    expect(await page.locator('[data-part=limits] a').allTextContents()).toEqual(['nearly']);
    expect(await page.locator('.lines polyline').count()).toBe(6);
    expect(await page.locator('[data-part=providers]').textContent()).toMatch(/Active.*100\s% of 4/s);
    expect(await faultsInEveryLook(page)).toEqual([]);
    await page.getByRole('link', { name: 'Table', exact: true }).click();
    await page.getByRole('region', { name: 'Traffic over time' }).waitFor();
    expect(await faultsInEveryLook(page)).toEqual([]);
    expect(faults).toEqual([]);
    await context.close();
  });

  it('closes its stream while nobody looks at it, and opens it again', async () => {
    const { page, context } = await watchedPage(browser);
    await page.goto(`${gateway.adminUrl}/dashboard/`);
    await signIn(page);
    await page.getByText('live, this instance').waitFor();
    const seen = async (hidden: boolean) => {
      const isLive = (request: Request) => request.url().includes('overview-live');
      const opened = hidden
        ? page.waitForEvent('requestfailed', isLive)
        : page.waitForEvent('request', isLive);
      await page.evaluate(`Object.defineProperty(document, 'hidden', { configurable: true, value: ${hidden} });
        document.dispatchEvent(new Event('visibilitychange'))`);
      await opened;
    };
    await seen(true);
    await seen(false);
    await context.close();
  });

  it('shows requests, errors and times to the first token of a range, each with a link to its requests', async () => {
    const visitor = await signedIn();
    await (await gateway.post(ask('Hello?', { model: 'no/such' }))).text();
    await gateway.stream(ask('Hello?'));
    const asked = '.?since=quarter&by=error_type&as=table';
    await until(async () => /first token p50.*?0\.\d+ s/is.test((await visitor.get(asked)).text));
    const { text } = await visitor.get(asked);
    const links = [...text.matchAll(/href="(requests\?[^"]*)"/g)].map(([, link]) =>
      link!.replaceAll('&amp;', '&'),
    );
    const failed = links.find(link => link.includes('error_type=invalid_request_error&end=client_error'))!;
    expect((await visitor.get(failed)).text).toContain('400');
    const charts = (await visitor.get('.?since=quarter&by=model')).text;
    expect(charts.match(/<figure class="trend">/g)).toHaveLength(3);
    const drawn = [
      ...charts.matchAll(/<a href="(requests\?[^"]*)" tabindex="-1"><title>[^<]*no known model: 1</g),
    ];
    const list = (await visitor.get(drawn[0]![1]!.replaceAll('&amp;', '&'))).text;
    expect(list).toContain('invalid_request_error');
  });

  it('shows no money to operators, nor streams any to them', async () => {
    const visitor = await signedIn('without-money');
    expect((await visitor.get('')).text).not.toContain('Cost today');
    const stream = await liveEvents(visitor, 'overview-live');
    expect(Object.keys(figuresIn(await stream.next()).html).sort()).toEqual([
      'failures',
      'limits',
      'providers',
      'traffic',
    ]);
    stream.leave();
  });
});

describe('the stream of the overview', () => {
  /** What a new stream tells first. */
  const read = async (visitor: DashboardVisitor): Promise<Figures> => {
    const stream = await liveEvents(visitor, 'overview-live');
    const event = await stream.next();
    stream.leave();
    return figuresIn(event);
  };

  it('has what has been counted', async () => {
    const visitor = await signedIn();
    const before = await read(visitor);
    const reply = (await (await gateway.post(ask('Hello?'))).json()) as { usage: { total_tokens: number } };
    await gateway.stream(ask('Hello?'));
    await gateway.post(ask('Hello?', { model: 'no/such' }));
    const after = await read(visitor);
    expect(after.requests - before.requests).toBe(3);
    expect(after.failures - before.failures).toBe(0);
    expect(after.tokens - before.tokens).toBeGreaterThan(reply.usage.total_tokens);
    expect(after.first_tokens.at(-1)).toEqual({
      within_s: null,
      count: before.first_tokens.at(-1)!.count + 1,
    });
    expect(after.in_flight).toBe(0);
    expect(Object.keys(after.html).sort()).toEqual(['cost', 'failures', 'limits', 'providers', 'traffic']);
  });

  it('ends when its reader signs out', async () => {
    const visitor = await signedIn();
    const stream = await liveEvents(visitor, 'overview-live');
    await stream.next();
    await visitor.get('');
    await visitor.post('sign-out', {});
    let last: string | undefined;
    for (let event = await stream.next(); event; event = await stream.next()) last = event.event;
    expect(last).toBe('signed-out');
  });

  it('is refused to a person who has too many over all sessions, until one is closed', async () => {
    const [visitor, elsewhere] = [await signedIn(), await signedIn()];
    const streams = await Promise.all(
      [visitor, elsewhere].flatMap(one => Array.from({ length: 4 }, () => liveEvents(one, 'overview-live'))),
    );
    const refused = await visitor.get('overview-live');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '10']);
    const other = await liveEvents(await signedIn('without-money'), 'overview-live');
    expect(other.status).toBe(200);
    streams[0]!.leave();
    await until(async () => {
      const again = await liveEvents(visitor, 'overview-live');
      again.leave();
      return again.status === 200;
    });
    for (const stream of [other, ...streams]) stream.leave();
  });

  it('requires a session, does not extend it, and ends with it', async () => {
    const clock = new FakeClock();
    const idle = await startGateway({
      upstream: 'http://127.0.0.1:9/v1',
      config: { admin: dashboardAdmin({ session_idle_ms: 60_000 }) },
      options: { clock },
    });
    try {
      const visitor = new DashboardVisitor(`${idle.adminUrl}/dashboard/`);
      expect((await liveEvents(visitor, 'overview-live')).status).toBe(401);
      await visitor.signIn();
      const stream = await liveEvents(visitor, 'overview-live');
      expect(figuresIn(await stream.next()).requests).toBe(0);
      clock.advance(40_000);
      expect(figuresIn(await stream.next()).requests).toBe(0);
      clock.advance(40_000);
      expect(await stream.next()).toMatchObject({ event: 'signed-out' });
      expect(await stream.next()).toBeUndefined();
      expect((await visitor.get('keys')).status).toBe(303);
    } finally {
      await idle.close();
    }
  });

  it('ends when the gateway shuts down, and delays it by nothing', async () => {
    const short = await startGateway({
      upstream: 'http://127.0.0.1:9/v1',
      config: { admin: dashboardAdmin() },
    });
    const visitor = new DashboardVisitor(`${short.adminUrl}/dashboard/`);
    await visitor.signIn();
    const stream = await liveEvents(visitor, 'overview-live');
    await stream.next();
    const began_ms = performance.now();
    const closed = short.close();
    expect(await stream.next()).toBeUndefined();
    await closed;
    expect(performance.now() - began_ms).toBeLessThan(900);
  });
});
