import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Browser, Locator } from 'playwright-core';
import { defaultModels } from '../../src/catalog/default-models.ts';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import type { ListedRow } from '../../src/stores/records/ledger-records.ts';
import {
  accessibilityFaults,
  faultsInEveryLook,
  signIn,
  startBrowser,
  type WatchedPage,
  watchedPage,
} from '../support/browser.ts';
import { dashboardAdmin, operator } from '../support/dashboard-visitor.ts';
import { startApp } from '../support/express-app.ts';
import { clientKey, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { said as chunkOf, delta, finished, used as usageChunk } from '../support/hostile-setting.ts';
import { closeMounted, mountable } from '../support/mounted-gateway.ts';
import { answer, ask, promptOf, ready, said, textOf, used } from '../support/playground-page.ts';
import { customers, portalSection } from '../support/portal-visitor.ts';
import { pathOf } from '../support/programs.ts';
import { type RecordsPlace, recordsPlace } from '../support/records-place.ts';
import {
  chunk,
  events,
  type Script,
  type ScriptedUpstream,
  startScriptedUpstream,
  streamed,
  streamHead,
} from '../support/scripted-upstream.ts';
import { until } from '../support/until.ts';

/** The playground in a browser: in front of a simulated server, and of one that answers by script. */

const [seeing, blind] = ['aion-labs/aion-3.5', 'aion-labs/aion-3.5-mini'] as const;
const picture =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

let simulator: Simulator;
let upstream: ScriptedUpstream;
let place: RecordsPlace;
/** In front of the simulator, and of the script. */
let gateway: GatewayUnderTest;
let scripted: GatewayUnderTest;
let browser: Browser;
let watched: WatchedPage;
let page: WatchedPage['page'];

beforeAll(async () => {
  [simulator, upstream, place] = await Promise.all([
    startSimulator(),
    startScriptedUpstream(),
    recordsPlace(),
  ]);
  const config = { admin: dashboardAdmin(), stores: place.stores };
  gateway = await startGateway({ upstream: simulator, config });
  scripted = await startGateway({
    upstream,
    stages: [{ 'error-envelope': { openai_fields: true } }, 'auth', 'validation'],
    config: {
      admin: dashboardAdmin(),
      models: defaultModels('upstream').map(model =>
        model.id === seeing ? { ...model, architecture: { modality: 'text+image->text' } } : model,
      ),
      portal: portalSection(),
      accounts: { tester: { keys: [{ value: clientKey }] }, acme: {}, rival: {} },
    },
  });
  browser = await startBrowser();
  watched = await watchedPage(browser);
  ({ page } = watched);
}, 60_000);
afterAll(async () => {
  await browser?.close();
  await Promise.all([gateway?.close(), scripted?.close()]);
  await Promise.all([simulator?.close(), upstream?.close(), place?.remove()]);
});

/** Loads the playground anew, signed in, and fills in the operator's key. */
async function openPlayground(of: GatewayUnderTest, { page }: WatchedPage = watched): Promise<void> {
  await page.goto(`${of.adminUrl}/dashboard/playground`);
  if (page.url().includes('sign-in')) await signIn(page);
  await page.getByLabel('API key').fill(clientKey);
}

/** The playground of the same operator in another browser window, for tests that close it or change its cookies. */
async function otherPlayground(): Promise<WatchedPage> {
  const other = await watchedPage(browser, { session: await watched.context.storageState() });
  await openPlayground(gateway, other);
  return other;
}

const requestIdOf = async (watched: WatchedPage) =>
  /req_[\w-]+/.exec((await answer(watched).locator('.request-id').textContent())!)![0];

/** What the ledger says of the request that the page has made. */
async function recordOf(watched: WatchedPage, id?: string): Promise<ListedRow> {
  const request_id = id ?? (await requestIdOf(watched));
  let found: ListedRow | undefined;
  await until(async () => {
    const rows = await place.look(store => store.ledger.list({ limit: 20 }));
    found = rows.find(row => row.request_id === request_id);
    return found !== undefined;
  });
  return found!;
}

/** What a program prints that has the key in its environment. Throws where it fails. */
async function run(program: string, args: readonly string[]): Promise<string> {
  const env = { PATH: process.env.PATH, SLUICE_API_KEY: clientKey };
  return (await promisify(execFile)(program, args, { env, timeout: 20_000 })).stdout;
}

const button = (name: string, exact = true): Locator => page.getByRole('button', { name, exact });
const focused = () =>
  page.evaluate<string>('document.activeElement.name || document.activeElement.textContent');

describe('the playground', () => {
  beforeEach(async () => {
    watched.faults.length = 0;
    await openPlayground(gateway);
  });

  it('streams an answer with its reasoning apart, and shows the usage and cost of the ledger', async () => {
    await ask(watched, 'Why do rivers bend? [[sim:tps=80 reasoning_tokens=90 tokens=60]]');
    await answer(watched).locator('.reasoning').filter({ hasText: /\w/ }).waitFor();
    const running = Number(await used(watched, 'completion'));
    await said(watched, 'Complete.');
    const [reasoning = '', text = ''] = await Promise.all(
      ['.reasoning', '.text'].map(async part => (await answer(watched).locator(part).textContent())!),
    );
    expect([reasoning.length > 50, text.length > 50, text.includes(reasoning)]).toEqual([true, true, false]);
    const row = await recordOf(watched);
    expect(running).toBeLessThan(row.completion_tokens);
    const end = { account: 'tester', end_reason: 'completed', status: 200, reasoning_tokens: 90 };
    expect(row).toMatchObject(end);
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
    for (const name of ['curl', 'openai for JavaScript', 'openai for Python']) {
      await button(name).click();
      expect(await accessibilityFaults(page)).toEqual([]);
    }
    await page.getByRole('link', { name: 'Open the record' }).click();
    await page.getByText(row.request_id).waitFor();
    expect(watched.faults).toEqual([]);
  });

  it.each(['button', 'Escape'])(
    'stops by %s, which aborts the upstream and settles what has arrived',
    async how => {
      await ask(watched, 'Tell me a very long story. [[sim:tokens=endless tps=50 reasoning_tokens=5]]');
      await said(watched, 'Answering…');
      if (how === 'button') await button('Stop').click();
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
    await page.getByLabel('API key').fill('sk-of-nobody');
    await ask(watched, 'Hello?');
    const fault = page.getByRole('alert').getByText('Invalid API key. (401 · authentication_error)');
    await fault.waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await said(watched, 'Not answered.');
    expect(await requestIdOf(watched)).toMatch(/^req_/);
    await page.getByLabel('API key').fill(` ${clientKey} `);
    await button('Retry').click();
    await said(watched, 'Complete.');
    expect([await fault.isVisible(), watched.faults]).toEqual([false, []]);
  });

  it('shows an error in the stream next to the text before it', async () => {
    await ask(watched, 'Hello? [[sim:reset=12 reasoning=none tps=200]]');
    const message = 'The upstream provider closed the stream unexpectedly. (provider_error)';
    await page.getByRole('alert').getByText(message).waitFor();
    await said(watched, 'Broken off.');
    expect((await textOf(watched))!.length).toBeGreaterThan(5);
    expect(await recordOf(watched)).toMatchObject({ end_reason: 'upstream_failed' });
    expect(watched.faults).toEqual([]);
  });

  it('shows model output as text, never as HTML', async () => {
    const hostile = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script><b>bold</b> &amp; π`;
    await ask(watched, `[[sim:reasoning=tags say=<think>${hostile}</think>${hostile}]]`);
    await said(watched, 'Complete.');
    for (const part of ['.reasoning', '.text']) {
      expect(await answer(watched).locator(part).textContent()).toContain(hostile);
      expect(await answer(watched).locator(`${part} :is(img, script, b)`).count()).toBe(0);
    }
    expect([await page.title(), watched.faults]).toEqual(['Playground · sluice', []]);
  });

  it('keeps the key in the tab until signing out, and out of the page, its address and other storage', async () => {
    const other = await watchedPage(browser);
    const { page, context } = other;
    await openPlayground(gateway, other);
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
    const prompt = 'A prompt that took long to write';
    await ask(other, prompt);
    const told = 'You are signed out. Sign in in another tab, and retry here.';
    await page.getByRole('alert').getByText(told).waitFor();
    expect(await page.getByRole('article', { name: 'Prompt' }).textContent()).toContain(prompt);
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
    const effort = page.getByLabel('Reasoning effort');
    const model = page.getByLabel('Model', { exact: true });
    const offered = ['default (high)', 'low', 'high', 'max'];
    expect(await effort.locator('option').allTextContents()).toEqual(offered);
    await effort.selectOption('low');
    await model.selectOption('aion-labs/aion-2.0');
    expect(await effort.inputValue()).toBe('low');
    await effort.selectOption('none');
    await model.selectOption('aion-labs/aion-rp-llama-3.1-8b');
    expect([await effort.inputValue(), await effort.isDisabled()]).toEqual(['', true]);
    await page.goto(`${gateway.adminUrl}/dashboard/playground?model=aion-labs/aion-3.0`);
    expect(await model.inputValue()).toBe('aion-labs/aion-3.0');
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

  it('streams to two pages independently, and settles a request whose page is closed mid-stream', async () => {
    const other = await otherPlayground();
    await ask(watched, `Number 0 [[sim:tps=20 reasoning_tokens=15 say=answer-0-end]]`);
    await ask(other, 'Tell me a very long story. [[sim:tokens=endless tps=50 reasoning_tokens=5]]');
    await said(other, 'Answering…');
    await said(watched, 'Complete.');
    expect(await textOf(watched)).toBe('answer-0-end');
    const request_id = await requestIdOf(other);
    await other.page.close();
    await until(() => gateway.gateway.inFlight === 0);
    expect(await recordOf(other, request_id)).toMatchObject({ end_reason: 'client_gone' });
    await other.context.close();
  });

  it('works with the keyboard alone', async () => {
    await page.getByLabel('API key').press('Tab');
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

  it('passes the accessibility checks in every look, empty and while it is answered', async () => {
    expect(await faultsInEveryLook(page)).toEqual([]);
    await page.getByText('System prompt').click();
    await ask(watched, `${'unbroken'.repeat(40)} [[sim:tokens=endless tps=20 reasoning_tokens=20]]`);
    await said(watched, 'Answering…');
    expect(await faultsInEveryLook(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await said(watched, 'Stopped.');
    expect(watched.faults).toEqual([]);
  });
});

const stream = (text: string): Script =>
  streamed(events(chunkOf(text), finished(), usageChunk(7, 3), '[DONE]'));
/** The beginning of an answer that goes on until its client leaves. */
const endless = (text: string): Script => streamHead() + chunk(events(chunkOf(text))).toString();
/** The messages of the last request, each as its role and content. */
const sent = () =>
  (upstream.last.body.messages as { role: string; content: unknown }[]).map(({ role, content }) => [
    role,
    content,
  ]);

describe('a conversation in the playground', () => {
  beforeEach(async () => {
    watched.faults.length = 0;
    upstream.requests.length = 0;
    await openPlayground(scripted);
  });

  it('grows by turns that can be edited, asked again and deleted', async () => {
    await page.getByText('System prompt').click();
    await page.getByLabel('System prompt').fill('Be brief.');
    upstream.reply(stream('One.'));
    await ask(watched, 'First?');
    await said(watched, 'Complete.');
    upstream.reply(stream('Two.'));
    await ask(watched, 'Second?');
    await answer(watched).getByText('Two.').waitFor();
    expect(sent()).toEqual([
      ['system', 'Be brief.'],
      ['user', 'First?'],
      ['assistant', 'One.'],
      ['user', 'Second?'],
    ]);
    // Edits change what is sent; asking again drops what came after.
    const first = page.getByRole('article', { name: 'Prompt' }).first();
    await first.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Edited prompt').fill('Zeroth?');
    await button('Save').click();
    await answer(watched).getByRole('button', { name: 'Retry' }).click();
    await until(() => upstream.requests.length === 3);
    expect(sent()[1]).toEqual(['user', 'Zeroth?']);
    await answer(watched, 1).getByRole('button', { name: 'Delete' }).click();
    await first.getByRole('button', { name: 'Ask again' }).click();
    await until(() => upstream.requests.length === 4);
    expect(sent()).toEqual([
      ['system', 'Be brief.'],
      ['user', 'Zeroth?'],
    ]);
    await said(watched, 'Complete.');
    expect(await page.getByRole('article').count()).toBe(2);
    await button('Start anew').click();
    expect(await page.getByRole('article').count()).toBe(0);
    expect(watched.faults).toEqual([]);
  });

  it('shows paragraphs, lists and code of an answer, and its request and events as they were', async () => {
    const text = 'Two **ways**:\n\n1. `one`\n2. two\n\n```js\nlet a = "<b>";\n\nlet b;\n```\n\nDone.';
    upstream.reply(stream(text));
    await ask(watched, 'How?');
    await said(watched, 'Complete.');
    const shown = answer(watched).locator('.text');
    expect(await shown.locator('ol > li').allTextContents()).toEqual(['one', 'two']);
    expect(await shown.locator('strong').textContent()).toBe('ways');
    expect(await shown.locator('pre').textContent()).toBe('let a = "<b>";\n\nlet b;');
    expect(await shown.locator('p').allTextContents()).toEqual(['Two ways:', 'Done.']);
    await button('Raw').click();
    const raw = (await answer(watched).locator('.raw').textContent())!;
    expect(await shown.isVisible()).toBe(false);
    expect(raw).toContain('"messages":[{"role":"user","content":"How?"}]');
    expect(raw).toContain('HTTP 200');
    const data = [...raw.matchAll(/^data: (.*)$/gm)].map(([, json]) => json!);
    expect(data.at(-1)).toBe('[DONE]');
    expect(JSON.parse(data.at(-2)!)).toMatchObject({ usage: { completion_tokens: 3 } });
    expect(raw).not.toContain(clientKey);
  });

  it('sends the results of tool calls back as messages', async () => {
    await page.getByText('Tools', { exact: true }).click();
    await page.getByLabel('Tools, as JSON').fill('[{');
    await page.getByText('This is no list in JSON: it is not sent.').waitFor();
    await button('Insert an example').click();
    const call = {
      index: 0,
      id: 'call_1',
      type: 'function',
      function: { name: 'get_weather', arguments: '{"place":"Oslo"}' },
    };
    upstream.replyOnce(
      streamed(events(delta({ tool_calls: [call] }), finished('tool_calls'), usageChunk(7, 3), '[DONE]')),
    );
    upstream.reply(stream('It is cold.'));
    await ask(watched, 'Is it cold in Oslo?');
    await said(watched, 'Ended with a tool call.');
    expect(upstream.last.body.tools).toEqual([
      { type: 'function', function: expect.objectContaining({ name: 'get_weather' }) },
    ]);
    expect(await faultsInEveryLook(page)).toEqual([]);
    // The keyboard is there already.
    await page.keyboard.type('{"celsius": -3}');
    await button('Send results').click();
    await answer(watched).getByText('It is cold.').waitFor();
    const [, asked, result] = upstream.last.body.messages as Record<string, unknown>[];
    expect(asked).toMatchObject({ role: 'assistant', tool_calls: [{ id: expect.any(String) }] });
    const [{ id }] = asked!.tool_calls as [{ id: string }];
    expect(result).toEqual({ role: 'tool', tool_call_id: id, content: '{"celsius": -3}' });
    expect(watched.faults).toEqual([]);
  });

  it('takes images from files and addresses where the model takes them', async () => {
    upstream.reply(stream('A dot.'));
    const file = page.getByLabel('Image from a file');
    await file.setInputFiles({ name: 'big.png', mimeType: 'image/png', buffer: Buffer.alloc(4_000_000) });
    await page.getByText('big.png is larger than the 3 MiB accepted of an image.').waitFor();
    await file.setInputFiles({ name: 'page.html', mimeType: 'text/html', buffer: Buffer.from('<b>') });
    await page.getByText('page.html is no PNG, JPEG, GIF or WebP image.').waitFor();
    await file.setInputFiles({
      name: 'dot.png',
      mimeType: 'image/png',
      buffer: Buffer.from(picture, 'base64'),
    });
    await page.getByRole('img', { name: 'Picked image' }).waitFor();
    await page.getByLabel('Image at an address').fill('http://example.com/a.png');
    await page.getByLabel('Image at an address').press('Enter');
    await page.getByText('must begin with https://').waitFor();
    await page.getByLabel('Image at an address').fill('https://example.com/a.png');
    await button('Add').click();
    await ask(watched, 'What is this?');
    await said(watched, 'Complete.');
    expect(sent()).toEqual([
      [
        'user',
        [
          { type: 'text', text: 'What is this?' },
          { type: 'image_url', image_url: { url: `data:image/png;base64,${picture}` } },
          { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
        ],
      ],
    ]);
    expect(await faultsInEveryLook(page)).toEqual([]);
    await page.getByLabel('Model', { exact: true }).selectOption(blind!);
    expect(await file.isVisible()).toBe(false);
    await ask(watched, 'And now?');
    await answer(watched).getByText('without the images, which this model does not take').waitFor();
    expect(sent()[0]).toEqual(['user', 'What is this?']);
    expect(watched.faults).toEqual([]);
  });

  it('shows the code and parameter of an error beside its request id', async () => {
    await page.getByText('Tools', { exact: true }).click();
    await page.getByLabel('Tools, as JSON').fill('[{ "type": "other" }]');
    await ask(watched, 'Hello?');
    await said(watched, 'Not answered.');
    expect(await answer(watched).getByRole('alert').textContent()).toMatch(
      /^tools.* must be an object .* \(400 · invalid_request_error · invalid_request · param: tools.*\)$/,
    );
    expect(await answer(watched).locator('.request-id').textContent()).toMatch(/^Request req_/);
    // Nothing of it stays in the conversation.
    upstream.reply(stream('Yes.'));
    await page.getByLabel('Tools, as JSON').fill('');
    await ask(watched, 'Hello again?');
    await said(watched, 'Complete.');
    expect(sent().map(([role]) => role)).toEqual(['user', 'user']);
  });

  async function compare(prompt: string): Promise<void> {
    await button('Compare two models').click();
    await ask(watched, prompt);
  }

  it('with two models side by side: they answer the same conversation at once, and either goes on', async () => {
    upstream.reply((socket, { body }) => socket.write(stream(`I am ${body.model}.`) as Buffer));
    await compare('Who are you?');
    await button('Continue with this').nth(1).waitFor();
    expect(upstream.requests.map(({ body }) => body.messages)).toEqual([
      [{ role: 'user', content: 'Who are you?' }],
      [{ role: 'user', content: 'Who are you?' }],
    ]);
    expect([await textOf(watched, 1), await textOf(watched)]).toEqual([
      'I am aion-3.5.',
      'I am aion-3.5-mini.',
    ]);
    for (const back of [0, 1])
      for (const [name, shape] of [
        ['completion', /^3$/],
        ['cost', /^\$0\.0/],
        ['first-token', /^\d+\sms$/],
        ['total', /^\d+\.\d\d\ss$/],
      ] as const)
        expect([name, await used(watched, name, back)]).toEqual([name, expect.stringMatching(shape)]);
    expect(await faultsInEveryLook(page)).toEqual([]);
    await ask(watched, 'And what is next?');
    await page.getByText('continue with one of them').waitFor();
    expect(upstream.requests).toHaveLength(2);
    await button('Continue with this').nth(1).click();
    await button('Compare two models').click();
    await button('Send').click();
    await until(() => upstream.requests.length === 3);
    expect(sent()).toEqual([
      ['user', 'Who are you?'],
      ['assistant', 'I am aion-3.5-mini.'],
      ['user', 'And what is next?'],
    ]);
    expect(watched.faults).toEqual([]);
  });

  it('with two models side by side: they have their own parameters, and are stopped one by one', async () => {
    upstream.reply(endless('On and on'));
    await button('Compare two models').click();
    const second = page.getByRole('group', { name: 'Model B' });
    await second.getByLabel('Model B').selectOption(seeing!);
    await second.getByLabel('Temperature').fill('0.5');
    await ask(watched, 'Tell me a story.');
    await said(watched, 'Answering…');
    await said(watched, 'Answering…', 1);
    await until(() => upstream.requests.length === 2);
    expect(upstream.requests.map(({ body }) => [body.model, body.temperature])).toEqual(
      expect.arrayContaining([
        ['aion-3.5', undefined],
        ['aion-3.5', 0.5],
      ]),
    );
    await answer(watched, 1).getByRole('button', { name: 'Stop' }).click();
    await said(watched, 'Stopped.', 1);
    await until(() => scripted.gateway.inFlight === 1);
    expect(await answer(watched).locator('.state').textContent()).toBe('Answering…');
    await answer(watched).getByRole('button', { name: 'Stop' }).click();
    await until(() => scripted.gateway.inFlight === 0);
    expect(await Promise.all(upstream.requests.map(({ closed }) => closed))).toEqual(['gateway', 'gateway']);
  });

  it('with two models side by side: they are both aborted when the page is left', async () => {
    upstream.reply(endless('On and on'));
    await compare('Tell me a story.');
    await until(() => scripted.gateway.inFlight === 2);
    await page.goto(`${scripted.adminUrl}/dashboard/models`);
    expect(await Promise.all(upstream.requests.map(({ closed }) => closed))).toEqual(['gateway', 'gateway']);
    await until(() => scripted.gateway.inFlight === 0);
  });

  it('with two models side by side: they are asked and decided on with the keyboard alone', async () => {
    upstream.reply(stream('Yes.'));
    await button('Compare two models').press('Enter');
    await promptOf(watched).fill('Hello?');
    await promptOf(watched).press('Control+Enter');
    await button('Continue with this').nth(1).waitFor();
    const focused = () => page.evaluate<string>('document.activeElement.textContent');
    // Back from the prompt over the buttons of the last answer.
    for (let presses = 0; presses < 12 && (await focused()) !== 'Continue with this'; presses++)
      await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Enter');
    expect(await page.getByRole('article', { name: /^Answer/ }).count()).toBe(1);
    expect(await page.evaluate<string>('document.activeElement.name')).toBe('prompt');
  });
});

describe('the playground of a dashboard that is mounted', () => {
  it('asks the application at its own address', async () => {
    const mounted = await mountable(simulator, { admin: dashboardAdmin() } as object);
    const { url } = await startApp(app => void app.use('/ops', mounted.dashboard));
    const { page, faults, context } = await watchedPage(browser);
    await page.goto(`${url}/ops/playground`);
    await signIn(page);
    await page.getByLabel('API key').fill(clientKey);
    await promptOf({ page } as WatchedPage).fill('Hello? [[sim:reasoning=none tokens=5 tps=200]]');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('In the ledger: account tester, answered by upstream, completed.').waitFor();
    expect(page.url()).toBe(`${url}/ops/playground`);
    expect(await page.locator('#code').textContent()).toContain(`'${url}/v1/chat/completions'`);
    expect(faults).toEqual([]);
    await context.close();
    await closeMounted();
  });
});

describe('a key that has just been issued', () => {
  it('is tried in the playground with one click, and never in an address', async () => {
    await page.goto(`${scripted.adminUrl}/dashboard/accounts`);
    await page.getByLabel('Name', { exact: true }).fill('newcomer');
    await button('Create account').click();
    await button('Issue key').click();
    const key = (await page.locator('#secret').textContent())!;
    await page.getByRole('link', { name: 'Try it in the playground' }).click();
    await ready(watched);
    expect(page.url()).toBe(`${scripted.adminUrl}/dashboard/playground`);
    expect(await page.getByLabel('API key').inputValue()).toBe(key);
    upstream.reply(stream('Yes.'));
    await button('Send').click();
    await page.getByText('In the ledger: account newcomer').waitFor();
  });

  it('is tried by a customer at the portal, which leads to the record there', async () => {
    const { page, context, faults } = await watchedPage(browser);
    await page.goto(`${scripted.url}/portal/keys`);
    await signIn(page, operator.password, 'carla');
    await page.getByRole('button', { name: 'Issue key' }).click();
    await page.getByRole('link', { name: 'Try it in the playground' }).click();
    upstream.reply(stream('Yes.'));
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText(`In the ledger: account ${customers.carla}, completed.`).waitFor();
    await page.getByRole('link', { name: 'Open the record' }).click();
    await page.getByRole('heading', { name: 'Request', exact: true }).waitFor();
    expect(page.url()).toMatch(/\/portal\/request\?id=req_/);
    expect(faults).toEqual([]);
    await context.close();
  });
});
