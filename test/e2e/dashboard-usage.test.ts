import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import type { LedgerRow } from '../../src/stores/records/ledger-entry.ts';
import { faultsInEveryLook, signIn, startBrowser, watchedPage } from '../support/browser.ts';
import { DashboardVisitor, dashboardAdmin, operator, password_hash } from '../support/dashboard-visitor.ts';
import { ask, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { type RecordsPlace, recordsPlace, runCommand } from '../support/records-place.ts';
import { until } from '../support/until.ts';

let simulator: Simulator;
let place: RecordsPlace;
let gateway: GatewayUnderTest;
let browser: Browser;
let visitor: DashboardVisitor;
/** Of the account acme, used for every second exchange. */
let key: string;

beforeAll(async () => {
  simulator = await startSimulator();
  place = await recordsPlace();
  await place.look(async store => {
    const who = { actor: operator.name, at_ms: Date.UTC(2025, 8, 1) };
    const { record } = await store.keys.create({ account: 'acme', name: 'nightly', expires_ms: null }, who);
    key = record.id;
    await store.ledger.insert(earlier(key));
  });
  gateway = await startGateway({
    upstream: simulator,
    config: {
      admin: dashboardAdmin({
        users: { [operator.name]: { password_hash }, otto: { password_hash, role: 'operator' } },
      }),
      stores: place.stores,
    },
  });
  visitor = new DashboardVisitor(`${gateway.adminUrl}/dashboard/`);
  await visitor.signIn();
  browser = await startBrowser();
}, 60_000);
afterAll(async () => {
  await browser?.close();
  await gateway?.close();
  await place?.remove();
  await simulator?.close();
});

const accounts = ['acme', 'o’neil & sons', '=cmd|calc'];
const models = ['aion-labs/aion-3.5', 'aion-labs/other', null, 'a/b', 'c/d', 'e/f'];
const providers = ['upstream', 'cloud', null];

/** Exchanges of half a year until February 2026, in sums of which floating point would lose some. */
function earlier(key_id: string | null = null): LedgerRow[] {
  return Array.from({ length: 400 }, (_, at) => ({
    id: `row-${at}`,
    request_id: `request-${at}`,
    account: accounts[at % accounts.length]!,
    key_id: at % 2 === 0 ? key_id : null,
    model: models[at % models.length]!,
    provider: providers[(at % 4) % 3]!,
    endpoint: 'chat_completions',
    stream: null,
    requested_model: null,
    error_message: null,
    error_param: null,
    trace_id: null,
    code: null,
    refused_by: null,
    attempts_made: [],
    stages: [],
    started_ms: Date.UTC(2025, 8, 1) + at * 11 * 3_600_000,
    duration_ms: 10,
    first_token_ms: null,
    status: at % 9 === 0 ? 502 : 200,
    error_type: at % 9 === 0 ? 'provider_error' : null,
    end_reason: 'finished',
    attempts: 1,
    prompt_tokens: 1000 + at * 7,
    completion_tokens: 500 + at * 3,
    cached_tokens: at,
    cache_creation_tokens: 0,
    reasoning_tokens: at * 2,
    estimated: at % 5 === 0,
    cost_usd: `0.${String(at * 1_000_003 + 1).padStart(12, '0')}`,
  }));
}

const command = async (...args: string[]): Promise<string> =>
  (await runCommand({ providers: {}, models: [], stores: place.stores } as never, 'usage', '--csv', ...args))
    .stdout;

const exported = async (query: string): Promise<string> => (await visitor.get(`usage-csv?${query}`)).text;
const lines = (csv: string): string[] => csv.trim().split(/\r?\n/);

describe('usage in the dashboard', () => {
  it.each([
    ['by model', 'from=2025-09-01&to=2026-02-28&by=model', ['--by', 'model']],
    ['by account', 'from=2025-09-01&to=2026-02-28&by=account', ['--by', 'account']],
    [
      'by all of them',
      'from=2025-09-01&to=2026-02-28&by=day&by=account&by=model',
      ['--by', 'day', '--by', 'account', '--by', 'model'],
    ],
    [
      'of one account',
      'from=2025-09-01&to=2026-02-28&account=acme&by=day',
      ['--account', 'acme', '--by', 'day'],
    ],
    [
      'of one model',
      'from=2025-09-01&to=2026-02-28&model=a%2Fb&by=account&by=month',
      ['--model', 'a/b', '--by', 'account', '--by', 'month'],
    ],
    ['by provider', 'from=2025-09-01&to=2026-02-28&by=provider&by=day', ['--by', 'provider,day']],
    [
      'by hour and key of one account',
      'from=2025-09-01&to=2026-02-28&account=acme&by=hour&by=key',
      ['--account', 'acme', '--by', 'hour', '--by', 'key'],
    ],
    [
      'of no model',
      'from=2025-09-01&to=2026-02-28&model=(none)&by=month',
      ['--model', '(none)', '--by', 'month'],
    ],
  ])('is exported %s exactly as the command prints it', async (_, query, args) => {
    const csv = await exported(query);
    expect(lines(csv).length).toBeGreaterThan(2);
    expect(lines(csv)).toEqual(lines(await command('--from', '2025-09-01', '--to', '2026-02-28', ...args)));
  });

  it.each([
    ['2025-09-17', '2025-10-04'],
    ['2025-09-30', '2026-01-01'],
    ['2025-10-02', '2025-10-31'],
    ['2026-02-11', '2026-02-11'],
  ])('has the sums of the command from %s to %s, which match the single exchanges', async (from, to) => {
    const csv = lines(await exported(`from=${from}&to=${to}&by=account`));
    expect(csv).toEqual(lines(await command('--from', from, '--to', to, '--by', 'account')));
    const column = (name: string) => csv[0]!.split(',').indexOf(name);
    const total = (name: string) =>
      csv.slice(1).reduce((sum, line) => sum + Number(line.split(',')[column(name)]), 0);
    const rows = earlier().filter(({ started_ms }) => {
      const day = new Date(started_ms).toISOString().slice(0, 10);
      return from <= day && day <= to;
    });
    expect(total('requests')).toBe(rows.length);
    expect(total('total_tokens')).toBe(
      rows.reduce((sum, { prompt_tokens, completion_tokens }) => sum + prompt_tokens + completion_tokens, 0),
    );
  });

  it('is shown with the sums of the command', async () => {
    const [titles, ...rows] = lines(
      await command('--from', '2025-09-10', '--to', '2025-10-20', '--by', 'model'),
    ).map(line => line.split(','));
    const column = (name: string) => titles!.indexOf(name);
    const page = (await visitor.get('usage?from=2025-09-10&to=2025-10-20')).text.replaceAll('\u202f', '');
    for (const row of rows) {
      expect(page).toContain(` class="number">${row[column('prompt_tokens')]}</td>`);
      expect(page).toContain(` class="number">${row[column('total_tokens')]}</td>`);
      expect(page).toContain(`exactly ${row[column('cost_usd')]} USD`);
    }
    const prompt = rows.reduce((sum, row) => sum + Number(row[column('prompt_tokens')]), 0);
    expect(page).toContain(`<dt>Prompt tokens</dt><dd><strong>${prompt}</strong>`);
  });

  it('includes an exchange seconds after it has ended', async () => {
    expect((await visitor.get('usage')).text).toContain('The ledger has nothing');
    const reply = await gateway.post(ask('Hello?'));
    const { usage } = (await reply.json()) as { usage: { total_tokens: number } };
    for (let tries = 0; !(await visitor.get('usage')).text.includes('Usage by model'); tries++) {
      expect(tries).toBeLessThan(100);
      await sleep(100);
    }
    const [titles, row] = lines(await exported('by=account')).map(line => line.split(','));
    expect(row?.[0]).toBe('tester');
    expect(row?.[titles!.indexOf('total_tokens')]).toBe(String(usage.total_tokens));
    expect(lines(await exported('by=account'))).toEqual(lines(await command('--by', 'account')));
  });

  it.each([
    ['from=yesterday', 'is no day'],
    ['from=2026-02-31', 'is no day'],
    ['from=2026-02-02&to=2026-02-01', 'is after the last'],
    ['from=%3Cscript%3E', '&lt;script&gt;'],
  ])('rejects %s with a readable message', async (query, words) => {
    const page = await visitor.get(`usage?${query}`);
    expect([page.status, page.text]).toEqual([422, expect.stringContaining(words)]);
    expect((await visitor.get(`usage-csv?${query}`)).status).toBe(422);
  });

  it('exports each field once, however often it is asked for', async () => {
    const { status, text } = await visitor.get(`usage-csv?${'&by=day'.repeat(1500)}`);
    expect([status, text.slice(0, 20)]).toEqual([200, 'day,requests,errors,']);
  });

  it('rejects an export by an unknown field or without a session', async () => {
    expect((await visitor.get('usage-csv?by=key')).status).toBe(422);
    const stranger = new DashboardVisitor(visitor.base);
    expect((await stranger.get('usage-csv?by=model')).status).toBe(303);
  });
});

/** The targets of a page's links, by their texts. */
const linksOf = ({ text }: { readonly text: string }): ReadonlyMap<string, URLSearchParams> =>
  new Map(
    [...text.matchAll(/<a href="usage\?([^"]*)"[^>]*>(?:<[^>]*>)?([^<]+)</g)].map(([, query, name]) => [
      name!,
      new URLSearchParams(query!.replaceAll('&amp;', '&')),
    ]),
  );

describe('the usage page', () => {
  it('has times by name, which move with the calendar', async () => {
    const page = await visitor.get('usage?time=7d&by=provider&show=requests&account=acme');
    const day = (ago: number) => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);
    expect(page.text).toContain(`name="from" value="${day(6)}"`);
    expect(page.text).toContain(`name="to" value="${day(0)}"`);
    const links = linksOf(page);
    expect([...links.keys()]).toEqual(
      expect.arrayContaining(['Today', '7 days', '30 days', '90 days', 'This month', 'Last month']),
    );
    expect(Object.fromEntries(links.get('Last month')!)).toEqual({
      time: 'last-month',
      account: 'acme',
      by: 'provider',
      show: 'requests',
    });
    expect(page.text).toMatch(/aria-current="true">7 days</);
    const last = await visitor.get('usage?time=last-month');
    const [, from] = /name="from" value="([^"]+)"/.exec(last.text)!;
    expect(from).toMatch(/-01$/);
    expect(from! < `${day(0).slice(0, 8)}01`).toBe(true);
  });

  it('keeps time, group and measure from one look to the next', async () => {
    const kept = { from: '2025-09-01', to: '2025-09-30', by: 'account', show: 'cost' };
    const month = await visitor.get(`usage?${new URLSearchParams(kept)}`);
    expect(Object.fromEntries(linksOf(month).get('acme')!)).toEqual({ ...kept, account: 'acme' });
    const ofDay = Object.fromEntries(linksOf(month).get('2025-09-17')!);
    expect(ofDay).toEqual({ ...kept, from: '2025-09-17', to: '2025-09-17' });
    const day = await visitor.get(`usage?${new URLSearchParams(ofDay)}`);
    expect(day.text).toContain('<h2 id="hour">By hour</h2>');
    expect(day.text).toContain('requests?since=2025-09-17T');

    const keys = await visitor.get('usage?from=2025-09-01&to=2025-09-30&account=acme&by=key');
    const [name, ofKey] = [...linksOf(keys)].find(([name]) => name.startsWith('nightly …'))!;
    expect(ofKey.get('key')).toBe(key);
    const one = await visitor.get(`usage?${ofKey}`);
    expect(one.text).toContain(`Key <strong>${name}</strong>`);
    const total = ({ text }: { text: string }) =>
      Number(/<dt>Requests<\/dt><dd><strong>(\d+)/.exec(text)![1]);
    const acme = earlier(key).filter(
      ({ account, started_ms }) => account === 'acme' && started_ms < Date.UTC(2025, 9, 1),
    );
    expect([total(keys), total(one)]).toEqual([
      acme.length,
      acme.filter(({ key_id }) => key_id === key).length,
    ]);
    expect((await visitor.get(`usage?key=${key}`)).status).toBe(422);
  });

  it('tells since when there are sums by provider, and leaves out what is before and to come', async () => {
    const page = await visitor.get('usage?from=2000-01-01&to=2099-12-31&account=acme&by=provider');
    expect(page.text).toContain('is known from 2025-09-01 on; earlier days are left out.');
    const acme = earlier().filter(({ account, provider }) => account === 'acme' && provider === 'cloud');
    const [, row] = page.text.split('>cloud</a>');
    expect(/class="number">(\d+)</.exec(row!)?.[1]).toBe(String(acme.length));
    expect((await visitor.get('usage?from=2000-01-01&to=2000-01-02&by=provider')).text).toContain(
      'The ledger has nothing',
    );
    expect((await visitor.get('usage?from=2099-01-01&to=2099-01-02&by=provider')).text).toContain(
      'The ledger has nothing',
    );
  });

  it('compares with the time before', async () => {
    const page = await visitor.get('usage?from=2025-09-11&to=2025-09-20&show=requests');
    expect(page.text).toContain('Compared with 2025-09-01 to 2025-09-10.');
    const count = (from: number, to: number) =>
      earlier().filter(
        ({ started_ms }) => started_ms >= Date.UTC(2025, 8, from) && started_ms < Date.UTC(2025, 8, to),
      ).length;
    const [now, before] = [count(11, 21), count(1, 11)];
    const change = Number((((now - before) / before) * 100).toFixed(1));
    expect(page.text).toContain(
      `<strong>${now}</strong> <span class="change">${change === 0 ? '±0' : `${change > 0 ? '+' : '−'}${Math.abs(change)}`} %</span>`,
    );
    expect(page.text).toContain('class="before"');
    expect((await visitor.get('usage?from=2025-09-01&to=2025-09-20')).text).not.toContain('Compared with');
  });

  it('has no amounts of money for operators', async () => {
    const otto = new DashboardVisitor(visitor.base);
    await otto.signIn(operator.password, 'otto');
    const page = await otto.get('usage?from=2025-09-01&to=2025-09-30&show=cost');
    expect(page.text).toContain('Tokens by day');
    expect(page.text).not.toMatch(/cost|USD|\$/i);
    const csv = await otto.get('usage-csv?from=2025-09-01&to=2025-09-30&by=day');
    expect(lines(csv.text)[0]).toMatch(/^day,requests.*total_tokens$/);
  });

  it('is filtered, charted and exported in a browser', async () => {
    const { page, context, faults } = await watchedPage(browser);
    await page.goto(`${visitor.base}usage?from=2025-09-01&to=2025-09-30`);
    await signIn(page);
    await page.getByRole('heading', { name: 'By model' }).waitFor();
    await page.locator('.plot canvas').waitFor();
    expect(await page.locator('.bars').count()).toBe(0);
    expect(await page.locator('figcaption .key').count()).toBe(6);
    expect(await faultsInEveryLook(page)).toEqual([]);

    await page.getByRole('link', { name: 'By account' }).click();
    await page.getByRole('link', { name: 'acme' }).click();
    await page.getByRole('link', { name: 'Cost', exact: true }).click();
    await page.locator('input[name=to]').fill('2026-02-28');
    await page.getByRole('button', { name: 'Show' }).click();
    await page.getByRole('heading', { name: 'Cost by month' }).waitFor();
    expect(await faultsInEveryLook(page)).toEqual([]);

    const saving = page.waitForEvent('download');
    await page.getByRole('link', { name: 'CSV by month' }).click();
    const file = await saving;
    expect(file.suggestedFilename()).toBe('usage-by-month-2025-09-01-to-2026-02-28.csv');
    await page.goto(`${visitor.base}usage?account=nobody`);
    await page.getByText('nothing of the account “nobody”').waitFor();
    expect(await faultsInEveryLook(page)).toEqual([]);
    expect(faults).toEqual([]);
    await context.close();
  });

  it('finds the account that spent the most yesterday in four clicks', async () => {
    const started_ms = Date.now() - 86_400_000;
    await place.look(({ ledger }) =>
      ledger.insert([
        {
          ...earlier()[0]!,
          id: 'busy',
          account: 'busy',
          started_ms,
          prompt_tokens: 9_000_000,
          cost_usd: '1.5',
        },
        { ...earlier()[0]!, id: 'dear', account: 'dear', started_ms, prompt_tokens: 10, cost_usd: '42.75' },
      ]),
    );
    const { page, context, faults } = await watchedPage(browser);
    await page.goto(visitor.base);
    await signIn(page);
    const clicks = ['Usage', 'Yesterday', 'By account', 'Cost'];
    for (const name of clicks) await page.getByRole('link', { name, exact: true }).click();
    await page.getByRole('heading', { name: 'Cost by hour' }).waitFor();
    const first = page.getByRole('region', { name: 'Usage by account' }).locator('tbody tr').first();
    const cells = await first.locator('td').allTextContents();
    expect([cells[0], cells.at(-1)]).toEqual(['dear', '$42.75']);
    expect(faults).toEqual([]);
    await context.close();
  });

  it('exports the last month in three clicks', async () => {
    const { page, context } = await watchedPage(browser);
    await page.goto(visitor.base);
    await signIn(page);
    const now = new Date();
    const monthDay = (months: number, day: number) =>
      new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months, day)).toISOString().slice(0, 10);
    const started_ms = Date.parse(monthDay(-1, 15));
    await place.look(({ ledger }) =>
      ledger.insert([{ ...earlier()[0]!, id: 'month', account: 'monthly', started_ms }]),
    );
    await page.getByRole('link', { name: 'Usage', exact: true }).click();
    await page.getByRole('link', { name: 'Last month' }).click();
    const saving = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Export all as CSV' }).click();
    const file = await saving;
    expect(file.suggestedFilename()).toBe(
      `usage-by-day-account-model-${monthDay(-1, 1)}-to-${monthDay(0, 0)}.csv`,
    );
    expect(await readFile(await file.path(), 'utf8')).toContain(`${monthDay(-1, 15)},monthly,`);
    await context.close();
  });

  it('reads its bars out to pointers and to keys, and opens what they stand for', async () => {
    const { page, context, faults } = await watchedPage(browser);
    await page.goto(`${visitor.base}usage?from=2025-09-01&to=2025-09-02&show=requests`);
    await signIn(page);
    const plot = page.getByRole('application', { name: 'Requests by day' });
    const said = page.locator('.chart [role=status]');
    await plot.focus();
    const heard: (string | null)[] = [];
    for (const key of ['ArrowRight', 'ArrowRight', 'ArrowRight', 'Home', 'End', 'ArrowLeft', 'Escape']) {
      await page.keyboard.press(key);
      heard.push(await said.textContent());
    }
    const days = ['2025-09-01: 3, ', '2025-09-02: 2, '].map(start => expect.stringMatching(`^${start}`));
    expect(heard).toEqual([days[0], days[1], days[1], days[0], days[1], days[0], '']);
    expect(heard[0]).toContain('aion-labs/aion-3.5 1');

    const before = await plot.screenshot();
    const { x, y, width, height } = (await plot.boundingBox())!;
    await page.mouse.move(x + width * 0.75, y + height / 2);
    await until(async () => !(await plot.screenshot()).equals(before));
    expect(faults).toEqual([]);
    await context.close();
  });

  it.each([
    ['runs no scripts', { javaScriptEnabled: false }],
    ['cannot load the library of charts', {}],
  ])('has its bars in a browser that %s', async (_, options) => {
    const context = await browser.newContext(options);
    await context.route('**/chart.umd.min.js', route => route.abort());
    const page = await context.newPage();
    await page.goto(`${visitor.base}usage?from=2025-09-01&to=2025-09-30`);
    await signIn(page);
    await page.getByRole('heading', { name: 'By model' }).waitFor();
    expect(await page.locator('.bars g').count()).toBe(30);
    expect(await page.locator('.bars .series-1').count()).toBe(30);
    await context.close();
  });
});
