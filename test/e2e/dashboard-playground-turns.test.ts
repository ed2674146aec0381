import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { defaultModels } from '../../src/catalog/default-models.ts';
import {
  faultsInEveryLook,
  signIn,
  startBrowser,
  type WatchedPage,
  watchedPage,
} from '../support/browser.ts';
import { DashboardVisitor, dashboardAdmin, operator, password_hash } from '../support/dashboard-visitor.ts';
import { clientKey, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { said as chunkOf, delta, finished, used as usageChunk } from '../support/hostile-setting.ts';
import { answer, ask, promptOf, ready, said, textOf, used } from '../support/playground-page.ts';
import { customers, portalSection } from '../support/portal-visitor.ts';
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

const [seeing, blind] = ['aion-labs/aion-3.5', 'aion-labs/aion-3.5-mini'];
const picture =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

let upstream: ScriptedUpstream;
let gateway: GatewayUnderTest;
let browser: Browser;
let watched: WatchedPage;

beforeAll(async () => {
  upstream = await startScriptedUpstream();
  const models = defaultModels('upstream').map(model =>
    model.id === seeing ? { ...model, architecture: { modality: 'text+image->text' } } : model,
  );
  const users = { [operator.name]: { password_hash }, otto: { password_hash, role: 'operator' } };
  gateway = await startGateway({
    upstream,
    stages: [{ 'error-envelope': { openai_fields: true } }, 'auth', 'validation'],
    config: {
      admin: dashboardAdmin({ users }),
      models,
      portal: portalSection(),
      accounts: { tester: { keys: [{ value: clientKey }] }, acme: {}, rival: {} },
    },
  });
  browser = await startBrowser();
  watched = await watchedPage(browser);
  await watched.page.goto(`${gateway.adminUrl}/dashboard/playground`);
  await signIn(watched.page);
  await watched.page.getByLabel('API key').fill(clientKey);
}, 60_000);
beforeEach(async () => {
  watched.faults.length = 0;
  upstream.requests.length = 0;
  await watched.page.goto(`${gateway.adminUrl}/dashboard/playground`);
  await watched.page.getByLabel('API key').fill(clientKey);
});
afterAll(async () => {
  await browser?.close();
  await gateway?.close();
  await upstream?.close();
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
  it('grows by turns that can be edited, asked again and deleted', async () => {
    const { page, faults } = watched;
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
    await page.getByRole('button', { name: 'Save' }).click();
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
    await page.getByRole('button', { name: 'Start anew' }).click();
    expect(await page.getByRole('article').count()).toBe(0);
    expect(faults).toEqual([]);
  });

  it('shows paragraphs, lists and code of an answer, and its request and events as they were', async () => {
    const { page } = watched;
    const text = 'Two **ways**:\n\n1. `one`\n2. two\n\n```js\nlet a = "<b>";\n\nlet b;\n```\n\nDone.';
    upstream.reply(stream(text));
    await ask(watched, 'How?');
    await said(watched, 'Complete.');
    const shown = answer(watched).locator('.text');
    expect(await shown.locator('ol > li').allTextContents()).toEqual(['one', 'two']);
    expect(await shown.locator('strong').textContent()).toBe('ways');
    expect(await shown.locator('pre').textContent()).toBe('let a = "<b>";\n\nlet b;');
    expect(await shown.locator('p').allTextContents()).toEqual(['Two ways:', 'Done.']);
    await page.getByRole('button', { name: 'Raw' }).click();
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
    const { page, faults } = watched;
    await page.getByText('Tools', { exact: true }).click();
    await page.getByLabel('Tools, as JSON').fill('[{');
    await page.getByText('This is no list in JSON: it is not sent.').waitFor();
    await page.getByRole('button', { name: 'Insert an example' }).click();
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
    await page.getByRole('button', { name: 'Send results' }).click();
    await answer(watched).getByText('It is cold.').waitFor();
    const [, asked, result] = upstream.last.body.messages as Record<string, unknown>[];
    expect(asked).toMatchObject({ role: 'assistant', tool_calls: [{ id: expect.any(String) }] });
    const [{ id }] = asked!.tool_calls as [{ id: string }];
    expect(result).toEqual({ role: 'tool', tool_call_id: id, content: '{"celsius": -3}' });
    expect(faults).toEqual([]);
  });

  it('takes images from files and addresses where the model takes them', async () => {
    const { page, faults } = watched;
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
    await page.getByRole('button', { name: 'Add' }).click();
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
    expect(faults).toEqual([]);
  });

  it('shows the code and parameter of an error beside its request id', async () => {
    await watched.page.getByText('Tools', { exact: true }).click();
    await watched.page.getByLabel('Tools, as JSON').fill('[{ "type": "other" }]');
    await ask(watched, 'Hello?');
    await said(watched, 'Not answered.');
    expect(await answer(watched).getByRole('alert').textContent()).toMatch(
      /^tools.* must be an object .* \(400 · invalid_request_error · invalid_request · param: tools.*\)$/,
    );
    expect(await answer(watched).locator('.request-id').textContent()).toMatch(/^Request req_/);
    // Nothing of it stays in the conversation.
    upstream.reply(stream('Yes.'));
    await watched.page.getByLabel('Tools, as JSON').fill('');
    await ask(watched, 'Hello again?');
    await said(watched, 'Complete.');
    expect(sent().map(([role]) => role)).toEqual(['user', 'user']);
  });
});

describe('two models side by side', () => {
  async function compare(prompt: string): Promise<void> {
    await watched.page.getByRole('button', { name: 'Compare two models' }).click();
    await ask(watched, prompt);
  }

  it('answer the same conversation at once, and either goes on', async () => {
    const { page, faults } = watched;
    upstream.reply((socket, { body }) => socket.write(stream(`I am ${body.model}.`) as Buffer));
    await compare('Who are you?');
    await page.getByRole('button', { name: 'Continue with this' }).nth(1).waitFor();
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
    await page.getByRole('button', { name: 'Continue with this' }).nth(1).click();
    await page.getByRole('button', { name: 'Compare two models' }).click();
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await until(() => upstream.requests.length === 3);
    expect(sent()).toEqual([
      ['user', 'Who are you?'],
      ['assistant', 'I am aion-3.5-mini.'],
      ['user', 'And what is next?'],
    ]);
    expect(faults).toEqual([]);
  });

  it('have their own parameters, and are stopped one by one', async () => {
    const { page } = watched;
    upstream.reply(endless('On and on'));
    await page.getByRole('button', { name: 'Compare two models' }).click();
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
    await until(() => gateway.gateway.inFlight === 1);
    expect(await answer(watched).locator('.state').textContent()).toBe('Answering…');
    await answer(watched).getByRole('button', { name: 'Stop' }).click();
    await until(() => gateway.gateway.inFlight === 0);
    expect(await Promise.all(upstream.requests.map(({ closed }) => closed))).toEqual(['gateway', 'gateway']);
  });

  it('are both aborted when the page is left', async () => {
    upstream.reply(endless('On and on'));
    await compare('Tell me a story.');
    await until(() => gateway.gateway.inFlight === 2);
    await watched.page.goto(`${gateway.adminUrl}/dashboard/models`);
    expect(await Promise.all(upstream.requests.map(({ closed }) => closed))).toEqual(['gateway', 'gateway']);
    await until(() => gateway.gateway.inFlight === 0);
  });

  it('are asked and decided on with the keyboard alone', async () => {
    const { page } = watched;
    upstream.reply(stream('Yes.'));
    await page.getByRole('button', { name: 'Compare two models' }).press('Enter');
    await promptOf(watched).fill('Hello?');
    await promptOf(watched).press('Control+Enter');
    await page.getByRole('button', { name: 'Continue with this' }).nth(1).waitFor();
    const focused = () => page.evaluate<string>('document.activeElement.textContent');
    // Back from the prompt over the buttons of the last answer.
    for (let presses = 0; presses < 12 && (await focused()) !== 'Continue with this'; presses++)
      await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Enter');
    expect(await page.getByRole('article', { name: /^Answer/ }).count()).toBe(1);
    expect(await page.evaluate<string>('document.activeElement.name')).toBe('prompt');
  });
});

describe('the playground of an operator without money', () => {
  it('shows and sends no cost', async () => {
    upstream.reply(stream('Yes.'));
    const seen: boolean[] = [];
    for (const name of ['otto', operator.name]) {
      const visitor = new DashboardVisitor(`${gateway.adminUrl}/dashboard/`);
      await visitor.signIn(operator.password, name);
      expect((await visitor.get('playground')).text).toContain(
        `&quot;seesMoney&quot;:${name === operator.name}`,
      );
      const request = JSON.stringify({
        model: seeing,
        messages: [{ role: 'user', content: 'Hello?' }],
        stream: true,
      });
      const { text } = await visitor.post('playground-run', { request, key: clientKey });
      expect(text).toContain('"completion_tokens":3');
      const id = /req_[\w-]+/.exec(text)![0];
      let record = 'null';
      await until(async () => (record = (await visitor.get(`playground-record?id=${id}`)).text) !== 'null');
      expect(record).toContain('"completion_tokens":3');
      seen.push(text.includes('cost_usd'), record.includes('cost_usd'));
    }
    expect(seen).toEqual([false, false, true, true]);
  });
});

describe('a key that has just been issued', () => {
  it('is tried in the playground with one click, and never in an address', async () => {
    const { page } = watched;
    await page.goto(`${gateway.adminUrl}/dashboard/accounts`);
    await page.getByLabel('Name', { exact: true }).fill('newcomer');
    await page.getByRole('button', { name: 'Create account' }).click();
    await page.getByRole('button', { name: 'Issue key' }).click();
    const key = (await page.locator('#secret').textContent())!;
    await page.getByRole('link', { name: 'Try it in the playground' }).click();
    await ready(watched);
    expect(page.url()).toBe(`${gateway.adminUrl}/dashboard/playground`);
    expect(await page.getByLabel('API key').inputValue()).toBe(key);
    upstream.reply(stream('Yes.'));
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('In the ledger: account newcomer').waitFor();
  });

  it('is tried by a customer at the portal, which leads to the record there', async () => {
    const { page, context, faults } = await watchedPage(browser);
    await page.goto(`${gateway.url}/portal/keys`);
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
