import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import { contract } from '../../examples/own-adapter/fixtures.ts';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { post } from '../support/chain-app.ts';
import { runHere } from '../support/command-here.ts';
import { startExample, stopExamples } from '../support/example-process.ts';
import { alongside, closeApps } from '../support/express-app.ts';
import { ask, clientKey, eventsOf } from '../support/gateway-under-test.ts';
import { expectRefusal } from '../support/hostile-setting.ts';
import { send } from '../support/raw-client.ts';
import { startScriptedUpstream, streamed, whole } from '../support/scripted-upstream.ts';
import { endServed, type SidecarHere, serveFileHere } from '../support/sidecar-here.ts';
import { until } from '../support/until.ts';

const examples = fileURLToPath(new URL('../../examples/', import.meta.url));
const directories: string[] = [];
let simulator: Simulator;

beforeEach(async () => {
  simulator = await startSimulator({ reasoning: 'tags' });
});

afterEach(async () => {
  await stopExamples();
  await endServed();
  await closeApps();
  await simulator.close();
  await Promise.all(directories.splice(0).map(directory => rm(directory, { recursive: true })));
});

const environment = () => ({ UPSTREAM_URL: simulator.url, DEMO_KEY: clientKey, PORT: '0' });

/** A configuration among the examples as it is, with its files beside it, but for the ports: those are free ones. */
async function startConfigured(name: string): Promise<SidecarHere> {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-example-'));
  directories.push(directory);
  for (const file of await readdir(join(examples, name)))
    if (file !== 'sluice.yaml') await symlink(join(examples, name, file), join(directory, file));
  const file = join(directory, 'sluice.yaml');
  const text = await readFile(join(examples, name, 'sluice.yaml'), 'utf8');
  await writeFile(file, `${text}\nserver: { port: 0, unready_ms: 0 }\nadmin: { port: 0 }\n`);
  Object.assign(process.env, environment());
  return serveFileHere(file);
}

const question = 'Why do rivers bend? [[sim:reasoning_tokens=4]] [[sim:say=They wander.]]';

/** What every example gives its clients, whatever the way in. */
async function expectInterface(url: string): Promise<void> {
  const chat = `${url}/v1/chat/completions`;
  const reply = await post(chat, ask(question));
  expect(reply.headers.get('x-request-id')).toMatch(/^req_/);
  expect(await reply.json()).toMatchObject({
    model: 'aion-labs/aion-3.5',
    choices: [{ message: { content: 'They wander.', reasoning: expect.any(String) }, finish_reason: 'stop' }],
    usage: { prompt_tokens_details: { cached_tokens: 0 } },
  });
  const events = eventsOf(await (await post(chat, ask(question, { stream: true }))).text());
  expect(events.map(({ json }) => json.choices?.[0]?.delta.content ?? '').join('')).toBe('They wander.');
  expect(events.at(-2)?.json.usage?.completion_tokens).toBeGreaterThan(0);
  expect(events.at(-1)?.data).toBe('[DONE]');
  const response = await post(`${url}/v1/responses`, { model: 'aion-labs/aion-3.5', input: question });
  expect(await response.json()).toMatchObject({
    status: 'completed',
    output: [{ content: [{ type: 'reasoning' }, { type: 'output_text', text: 'They wander.' }] }],
  });
  await expectRefusal(
    await post(chat, ask('?'), { authorization: 'Bearer nobody' }),
    401,
    'authentication_error',
  );
  const effort = await post(chat, ask('?', { reasoning_effort: 'medium' }));
  expect(await expectRefusal(effort, 400, 'invalid_request_error')).toContain('low, high, max');
  await expectRefusal(await post(chat, ask('[[sim:status=500]]')), 502, 'provider_error');
}

describe('examples/sidecar', () => {
  it('serves the interface and the catalog, and metrics only on the admin port', async () => {
    const { url, adminUrl } = await startConfigured('sidecar');
    await expectInterface(url);
    const catalog = (await (await fetch(`${url}/v1/models`)).json()) as { data: { id: string }[] };
    expect(catalog.data.map(({ id }) => id)).toEqual(['aion-labs/aion-3.5']);
    expect((await send(`${adminUrl}/metrics`)).text).toContain('sluice_requests_total');
    expect((await send(`${url}/metrics`)).status).toBe(404);
  });
});

describe('examples/in-front-of-a-proxy', () => {
  it('adds the interface to a proxy', async () => {
    const example = await startExample(['examples/in-front-of-a-proxy/server.ts'], environment());
    await expectInterface(example.url);
    // The catalog is the chain's, and everything else needs the key.
    expect((await send(`${example.url}/v1/models`)).text).toContain('aion-labs/aion-3.5');
    expect((await send(`${example.url}/version`)).status).toBe(401);
    const headers = { authorization: `Bearer ${clientKey}` };
    expect((await send(`${example.url}/version`, { headers })).status).toBe(200);
    expect(await example.stop()).toBe(0);
  });
});

describe('examples/own-stage', () => {
  it('runs the stage in the chain', async () => {
    const { url, adminUrl, output } = await startConfigured('own-stage');
    await expectInterface(url);
    expect(JSON.parse(simulator.requests[0]?.text ?? '').messages).toEqual([
      { role: 'system', content: 'Answer in at most three sentences.' },
      { role: 'user', content: question },
    ]);
    const messages = Array.from({ length: 21 }, () => ({ role: 'user', content: 'And then?' }));
    const refused = await post(`${url}/v1/chat/completions`, ask('', { messages }));
    const message = await expectRefusal(refused, 400, 'invalid_request_error');
    expect(message).toBe('messages: must be at most 20 here, not 21');
    const input = await post(`${url}/v1/responses`, { model: 'aion-labs/aion-3.5', input: messages });
    expect(await expectRefusal(input, 400, 'invalid_request_error')).toBe(
      'input: must be at most 20 here, not 21',
    );
    const metrics = (await send(`${adminUrl}/metrics`)).text;
    expect(metrics).toMatch(
      /sluice_stage_duration_seconds_count\{stage="house-rules",hook="onRequest"\} [1-9]/,
    );
    expect(metrics).toContain(
      'sluice_stage_refusals_total{stage="house-rules",hook="onRequest",error_type="invalid_request_error"} 2',
    );
    await until(() => output().includes('the house has answered'));
  });
});

describe('examples/own-adapter', () => {
  it('asks the Gemini API, streamed and whole, and gives its words, its reasoning and its exact usage', async () => {
    const { stream, reply } = contract.fixtures.find(({ name }) => name === 'answer')!;
    const upstream = alongside(
      await startScriptedUpstream((socket, { path }) =>
        socket.write(path.includes(':stream') ? streamed(stream!) : whole(200, reply as object)),
      ),
    );
    const GEMINI_URL = `${new URL(upstream.url).origin}/v1beta`;
    Object.assign(process.env, { GEMINI_URL, GEMINI_API_KEY: 'AIza-test-0123456789' });
    const { url } = await startConfigured('own-adapter');
    const openai = new OpenAI({ apiKey: clientKey, baseURL: `${url}/v1`, maxRetries: 0 });
    const asked = {
      model: 'google/gemini-3-flash',
      messages: [
        { role: 'system' as const, content: 'Be brief.' },
        { role: 'user' as const, content: 'Why do rivers bend?' },
      ],
      ...{ temperature: 0.5, stop: ['END'], reasoning_effort: 'low' as const, max_completion_tokens: 100 },
    };
    const counted = { ...asked, stream_options: { include_usage: true } };
    for (const [method, completion] of [
      ['generateContent', await openai.chat.completions.create(asked)],
      ['streamGenerateContent?alt=sse', await openai.chat.completions.stream(counted).finalChatCompletion()],
    ] as const) {
      const content = 'Water cuts the outer bank — slowly. 🏞️';
      expect(completion).toMatchObject({
        choices: [{ message: { content }, finish_reason: 'stop' }],
        usage: {
          ...{ prompt_tokens: 24, completion_tokens: 26, total_tokens: 50 },
          prompt_tokens_details: { cached_tokens: 16 },
          completion_tokens_details: { reasoning_tokens: 9 },
        },
      });
      const sent = upstream.requests.find(({ path }) => path.endsWith(`:${method}`))!;
      expect(sent.path).toBe(`/v1beta/models/gemini-3-flash-preview:${method}`);
      expect(sent.headers['x-goog-api-key']).toBe('AIza-test-0123456789');
      expect(sent.body).toEqual({
        systemInstruction: { parts: [{ text: 'Be brief.' }] },
        contents: [{ role: 'user', parts: [{ text: 'Why do rivers bend?' }] }],
        generationConfig: {
          temperature: 0.5,
          maxOutputTokens: 100,
          stopSequences: ['END'],
          thinkingConfig: { thinkingLevel: 'low', includeThoughts: true },
        },
        safetySettings: [{ category: 'HARM_CATEGORY_DANGEROUS_CONTENT', threshold: 'BLOCK_ONLY_HIGH' }],
      });
    }
  });
});

/** Those that are mounted. */
const mounted = [
  'mounted/server.ts',
  ...['node-http.ts', 'fastify.ts', 'koa.ts', 'hono.ts'].map(name => `hosts/${name}`),
  'hosts/next/pages/api/[...path].ts',
];

describe('the examples', () => {
  it.each(['sidecar', 'own-stage', 'own-adapter'])(
    'pass `sluice check` without a warning: %s',
    async name => {
      const args = ['check', '--config', join(examples, name, 'sluice.yaml')];
      const { code, stdout } = await runHere(args, { ...environment(), GEMINI_API_KEY: 'key' });
      expect(stdout).toMatch(/sluice\.yaml: ok; models: 1, providers: 1/);
      expect(stdout).not.toContain('warning');
      expect(code).toBe(0);
    },
  );

  it('are all listed in their README, and every linked file exists', async () => {
    const readme = await readFile(join(examples, 'README.md'), 'utf8');
    for (const path of [
      ...['sidecar/sluice.yaml', 'in-front-of-a-proxy/server.ts'],
      ...['own-stage/house-rules.ts', 'own-stage/sluice.yaml', ...mounted],
    ])
      expect(readme).toContain(path);
    const linked = [...readme.matchAll(/\]\(([^)]+)\)/g)].map(([, target]) => target ?? '');
    for (const target of linked) await expect(readFile(join(examples, target), 'utf8')).resolves.toBeTruthy();
  });
});
