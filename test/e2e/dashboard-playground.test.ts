import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import type { ListedRow } from '../../src/stores/records/ledger-records.ts';
import {
  accessibilityFaults,
  faultsInEveryLook,
  type Session,
  signIn,
  startBrowser,
  type WatchedPage,
  watchedPage,
} from '../support/browser.ts';
import { dashboardAdmin } from '../support/dashboard-visitor.ts';
import { clientKey, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { answer, ask, promptOf, ready, said, textOf, used } from '../support/playground-page.ts';
import { pathOf } from '../support/programs.ts';
import { type RecordsPlace, recordsPlace } from '../support/records-place.ts';
import { until } from '../support/until.ts';

let simulator: Simulator;
let place: RecordsPlace;
let gateway: GatewayUnderTest;
let browser: Browser;
let watched: WatchedPage;

beforeAll(async () => {
  simulator = await startSimulator();
  place = await recordsPlace();
  gateway = await startGateway({
    upstream: simulator,
    config: { admin: dashboardAdmin(), stores: place.stores },
  });
  browser = await startBrowser();
  watched = await watchedPage(browser);
  await watched.page.goto(`${gateway.adminUrl}/dashboard/playground`);
  await signIn(watched.page);
  await watched.page.getByRole('heading', { name: 'Playground' }).waitFor();
  session = await watched.context.storageState();
}, 60_000);
beforeEach(async () => {
  watched.faults.length = 0;
  await openPlayground(watched);
});
afterAll(async () => {
  await browser?.close();
  await gateway?.close();
  await place?.remove();
  await simulator?.close();
});

let session: Session;

/** Loads the playground anew, and fills in the operator's key. */
async function openPlayground({ page }: WatchedPage): Promise<void> {
  await page.goto(`${gateway.adminUrl}/dashboard/playground`);
  await page.getByLabel('API key').fill(clientKey);
}

/** The playground of the same operator in another browser window, for tests that close it or change its cookies. */
async function otherPlayground(): Promise<WatchedPage> {
  const other = await watchedPage(browser, { session });
  await openPlayground(other);
  return other;
}

/** What the ledger says of the request that the page has made. */
async function recordOf(watched: WatchedPage): Promise<ListedRow> {
  const request_id = await requestIdOf(watched);
  let found: ListedRow | undefined;
  await until(async () => {
    const rows = await place.look(store => store.ledger.list({ limit: 20 }));
    found = rows.find(row => row.request_id === request_id);
    return found !== undefined;
  });
  return found!;
}

const requestIdOf = async (watched: WatchedPage) =>
  /req_[\w-]+/.exec((await answer(watched).locator('.request-id').textContent())!)![0];

/** What a program prints that has the key in its environment. Throws where it fails. */
async function run(program: string, args: readonly string[]): Promise<string> {
  const env = { PATH: process.env.PATH, SLUICE_API_KEY: clientKey };
  return (await promisify(execFile)(program, args, { env, timeout: 20_000 })).stdout;
}

describe('the playground', () => {
  it('streams an answer with its reasoning apart, and shows the usage and cost of the ledger', async () => {
    const { page, faults } = watched;
    await ask(watched, 'Why do rivers bend? [[sim:tps=80 reasoning_tokens=90 tokens=60]]');
    await answer(watched).locator('.reasoning').filter({ hasText: /\w/ }).waitFor();
    const running = Number(await used(watched, 'completion'));
    await said(watched, 'Complete.');
    const [reasoning, text] = await Promise.all(
      ['.reasoning', '.text'].map(part => answer(watched).locator(part).textContent()),
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
      reasoning_tokens: 90,
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
    expect(await used(watched, 'total')).toMatch(/^\d+\.\d\d\ss$/);
    expect(Number(await used(watched, 'speed'))).toBeGreaterThan(5);
    expect(await page.getByRole('status').textContent()).toMatch(
      /^Answer of aion-labs\/aion-3\.5: Complete\. 150 tokens in \d+\.\d s\.$/,
    );
    await page.getByRole('link', { name: 'Open the record' }).click();
    await page.getByText(row.request_id).waitFor();
    await openPlayground(watched);
    expect(faults).toEqual([]);
  });

  it.each(['button', 'Escape'])(
    'stops by %s, which aborts the upstream and settles what has arrived',
    async how => {
      const { page } = watched;
      await ask(watched, 'Tell me a very long story. [[sim:tokens=endless tps=50 reasoning_tokens=5]]');
      await said(watched, 'Answering…');
      if (how === 'button') await page.getByRole('button', { name: 'Stop' }).click();
      else await page.keyboard.press('Escape');
      await said(watched, 'Stopped.');
      const row = await recordOf(watched);
      expect(row).toMatchObject({ end_reason: 'client_gone', status: 200 });
      expect(gateway.gateway.inFlight).toBe(0);
      await page.getByText('In the ledger: account tester, answered by upstream, client gone.').waitFor();
      expect(await used(watched, 'completion')).toBe(String(row.completion_tokens));
      expect(await used(watched, 'cost')).toBe(`$${row.cost_usd}`);
      expect(watched.faults).toEqual([]);
      // Not the one before, but the next.
      await ask(watched, 'Hello?');
      await said(watched, 'Complete.');
      await page.getByText('upstream, completed.').waitFor();
      expect((await recordOf(watched)).request_id).not.toBe(row.request_id);
    },
  );

  it('shows the error for a wrong key, and succeeds with the right one', async () => {
    const { page, faults } = watched;
    await page.getByLabel('API key').fill('sk-of-nobody');
    await ask(watched, 'Hello?');
    const fault = page.getByRole('alert').getByText('Invalid API key. (401 · authentication_error)');
    await fault.waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await said(watched, 'Not answered.');
    expect(await requestIdOf(watched)).toMatch(/^req_/);
    await page.getByLabel('API key').fill(` ${clientKey} `);
    await page.getByRole('button', { name: 'Retry' }).click();
    await said(watched, 'Complete.');
    expect(await fault.isVisible()).toBe(false);
    expect(faults).toEqual([]);
  });

  it('shows an error in the stream next to the text before it', async () => {
    await ask(watched, 'Hello? [[sim:reset=12 reasoning=none tps=200]]');
    const message = 'The upstream provider closed the stream unexpectedly. (provider_error)';
    await watched.page.getByRole('alert').getByText(message).waitFor();
    await said(watched, 'Broken off.');
    expect((await textOf(watched))!.length).toBeGreaterThan(5);
    expect(await recordOf(watched)).toMatchObject({ end_reason: 'upstream_failed' });
    expect(watched.faults).toEqual([]);
  });

  it('shows model output as text, never as HTML', async () => {
    const { page } = watched;
    const hostile = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script><b>bold</b> &amp; π`;
    await ask(watched, `[[sim:reasoning=tags say=<think>${hostile}</think>${hostile}]]`);
    await said(watched, 'Complete.');
    for (const part of ['.reasoning', '.text']) {
      expect(await answer(watched).locator(part).textContent()).toContain(hostile);
      expect(await answer(watched).locator(`${part} :is(img, script, b)`).count()).toBe(0);
    }
    expect(await page.title()).toBe('Playground · sluice');
    expect(watched.faults).toEqual([]);
  });

  it('keeps the key in the tab until signing out, and out of the page, its address and other storage', async () => {
    const other = await watchedPage(browser);
    const { page, context } = other;
    await page.goto(`${gateway.adminUrl}/dashboard/playground`);
    await signIn(page);
    await page.getByLabel('API key').fill(clientKey);
    await ask(other, 'Hello?');
    await said(other, 'Complete.');
    const stored = JSON.stringify([
      await context.storageState(),
      await page.content(),
      page.url(),
      await page.evaluate<string[]>(`performance.getEntries().map(({ name }) => name)`),
    ]);
    expect(stored).not.toContain(clientKey);
    await page.reload();
    await ready(other);
    expect(await page.getByLabel('API key').inputValue()).toBe(clientKey);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    expect(await page.evaluate<string>('JSON.stringify(sessionStorage)')).toBe('{}');
    await signIn(page);
    await page.goto(`${gateway.adminUrl}/dashboard/playground`);
    await ready(other);
    expect(await page.getByLabel('API key').inputValue()).toBe('');
    await context.close();
  });

  it('reports an expired session, keeps the conversation, and goes on after signing in in another tab', async () => {
    const other = await otherPlayground();
    const { page, context, faults } = other;
    await context.clearCookies();
    await ask(other, 'A prompt that took long to write');
    await page
      .getByRole('alert')
      .getByText('You are signed out. Sign in in another tab, and retry here.')
      .waitFor();
    expect(await page.getByRole('article', { name: 'Prompt' }).textContent()).toContain(
      'A prompt that took long to write',
    );
    const tab = await context.newPage();
    await tab.goto(`${gateway.adminUrl}/dashboard/`);
    await signIn(tab);
    await tab.getByRole('button', { name: 'Sign out' }).waitFor();
    await page.getByRole('button', { name: 'Retry' }).click();
    await said(other, 'Complete.');
    expect(faults).toEqual([expect.stringContaining('401'), expect.stringContaining('403')]);
    await context.close();
  });

  it('offers only the efforts that the model supports', async () => {
    const { page } = watched;
    const effort = page.getByLabel('Reasoning effort');
    expect(await effort.locator('option').allTextContents()).toEqual([
      'default (high)',
      'low',
      'high',
      'max',
    ]);
    await effort.selectOption('low');
    await page.getByLabel('Model', { exact: true }).selectOption('aion-labs/aion-2.0');
    expect(await effort.inputValue()).toBe('low');
    await effort.selectOption('none');
    await page.getByLabel('Model', { exact: true }).selectOption('aion-labs/aion-rp-llama-3.1-8b');
    expect([await effort.inputValue(), await effort.isDisabled()]).toEqual(['', true]);
    await page.goto(`${gateway.adminUrl}/dashboard/playground?model=aion-labs/aion-3.0`);
    expect(await page.getByLabel('Model', { exact: true }).inputValue()).toBe('aion-labs/aion-3.0');
  });

  it('generates code that sends the same request as the form', async () => {
    const other = await otherPlayground();
    const { page } = other;
    await page.clock.install();
    await promptOf(other).fill(`It's "quoted",\nwith $HOME and \`id\` and \\ 日本語.`);
    await page.getByLabel('Temperature').fill('0.5');
    await page.getByLabel('Reasoning effort').selectOption('low');
    await page.getByLabel('Max tokens').fill('300');
    await page.getByText('System prompt').click();
    await page.getByLabel('System prompt').fill(`Don't.`);
    const codes: Record<string, string> = {};
    for (const name of ['curl', 'openai for JavaScript', 'openai for Python']) {
      await page.getByRole('button', { name, exact: true }).click();
      await page.getByRole('button', { name: 'Copy' }).click();
      await page.getByRole('button', { name: 'Copied' }).click();
      codes[name] = await page.evaluate<string>('navigator.clipboard.readText()');
      expect(codes[name]).toContain(gateway.url);
      expect(codes[name]).not.toContain(clientKey);
      // It says so for two seconds.
      await page.clock.fastForward(2000);
      await page.getByRole('button', { name: 'Copy' }).waitFor();
    }
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.clock.runFor(2000);
    await said(other, 'Complete.');
    const { prompt_tokens, completion_tokens } = await recordOf(other);
    const text = (await textOf(other))!;
    const [byCurl, bySdk] = await Promise.all([
      run('sh', ['-c', codes.curl!.replace('curl', `${pathOf('curl')} -sS`)]),
      run(process.execPath, ['--input-type=module', '-e', codes['openai for JavaScript']!]),
    ]);
    expect(byCurl).toContain(`"prompt_tokens":${prompt_tokens},"completion_tokens":${completion_tokens}`);
    expect(bySdk.endsWith(text)).toBe(true);
    expect(other.faults).toEqual([]);
    await other.context.close();
  });

  it('streams to two pages independently', async () => {
    const both = [watched, await otherPlayground()];
    const directives = 'tps=20 reasoning_tokens=15';
    await Promise.all(
      both.map((window, at) => ask(window, `Number ${at} [[sim:${directives} say=answer-${at}-end]]`)),
    );
    await Promise.all(both.map(window => said(window, 'Complete.')));
    for (const [at, { page }] of both.entries())
      expect(await page.locator('.text').last().textContent()).toBe(`answer-${at}-end`);
    await both[1]!.context.close();
  });

  it('settles a request whose page is closed mid-stream', async () => {
    const other = await otherPlayground();
    await ask(other, 'Tell me a very long story. [[sim:tokens=endless tps=50 reasoning_tokens=5]]');
    await said(other, 'Answering…');
    const request_id = await requestIdOf(other);
    await other.page.close();
    await until(() => gateway.gateway.inFlight === 0);
    await until(async () => {
      const rows = await place.look(store => store.ledger.list({ limit: 20 }));
      return rows.find(row => row.request_id === request_id)?.end_reason === 'client_gone';
    });
    await other.context.close();
  });

  it('works with the keyboard alone', async () => {
    const { page } = watched;
    await page.getByLabel('API key').press('Tab');
    const focused = () =>
      page.evaluate<string>('document.activeElement.name || document.activeElement.textContent');
    const seen: string[] = [];
    while (!seen.includes('Send')) {
      seen.push(await focused());
      expect(seen.length).toBeLessThan(24);
      await page.keyboard.press(seen.at(-1) === 'Send' ? 'Enter' : 'Tab');
    }
    expect(seen).toEqual(
      expect.arrayContaining(['prompt', 'reasoning_effort', 'temperature', 'max_tokens', 'Send']),
    );
    await said(watched, 'Complete.');
    expect(await focused()).toBe('prompt');
  });
});

describe('the playground in every look', () => {
  it('passes the accessibility checks, empty and while it is answered', async () => {
    const { page, faults } = watched;
    expect(await faultsInEveryLook(page)).toEqual([]);
    await page.getByText('System prompt').click();
    await ask(watched, `${'unbroken'.repeat(40)} [[sim:tokens=endless tps=20 reasoning_tokens=20]]`);
    await said(watched, 'Answering…');
    expect(await faultsInEveryLook(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await said(watched, 'Stopped.');
    expect(faults).toEqual([]);
  });

  it('passes the accessibility checks with an answer and each code sample', async () => {
    const { page, faults } = watched;
    await ask(watched, 'unbroken'.repeat(40));
    await page.getByText('In the ledger').waitFor();
    for (const name of ['curl', 'openai for JavaScript', 'openai for Python']) {
      await page.getByRole('button', { name, exact: true }).click();
      expect(await faultsInEveryLook(page)).toEqual([]);
    }
    expect(faults).toEqual([]);
  });
});
