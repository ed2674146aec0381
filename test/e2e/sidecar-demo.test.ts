import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { defaultModels } from '../../src/config/example-models.ts';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { runHere } from '../support/command-here.ts';
import { DashboardVisitor } from '../support/dashboard-visitor.ts';
import { ask, eventsOf } from '../support/gateway-under-test.ts';
import { PrintingProcess } from '../support/printing-process.ts';
import { pathOf } from '../support/programs.ts';
import { type SidecarProcess, startDemo } from '../support/sidecar-process.ts';
import { patience_ms, until } from '../support/until.ts';

/** The names that the models of the example catalog have at a server. */
const exampleModels = defaultModels('upstream').map(({ upstreams }) => upstreams[0]!.model);

const running: (SidecarProcess | Simulator)[] = [];
/** For what one demo can show. */
let shared: SidecarProcess;

beforeAll(async () => {
  shared = await startDemo({ HOST: '127.0.0.2' });
});
afterAll(() => shared?.stop());
afterEach(async () => {
  for (const one of running.splice(0)) await ('stop' in one ? one.stop() : one.close());
});

async function demo(environment: Readonly<Record<string, string>> = {}): Promise<SidecarProcess> {
  const sidecar = await startDemo(environment);
  running.push(sidecar);
  return sidecar;
}

/** What the demo says of itself, in the line of its log. */
function announced(
  output: string,
): Record<'url' | 'key' | 'operator' | 'password' | 'dashboard' | 'upstream', string> {
  return JSON.parse(output.split('\n').find(line => line.includes('is listening on'))!);
}

/** A request with the key that the demo says, as its invitation on a terminal has it. */
async function tried(output: string, body: object = ask('Hello')): Promise<Response> {
  const { url, key } = announced(output);
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  return fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body: JSON.stringify(body) });
}

describe('sluice without a configuration', () => {
  it('serves the example catalog and logs an address and a key that work', async () => {
    const { url, adminUrl, output } = shared;
    // As in a container: HOST is where clients ask, and operators ask at loopback.
    expect([url, adminUrl].map(each => new URL(each).hostname)).toEqual(['127.0.0.2', '127.0.0.1']);
    expect(announced(output())).toMatchObject({ url, upstream: expect.stringContaining('SIMULATED') });
    const stream_options = { continuous_usage_stats: true };
    const reply = await tried(output(), ask('Why do rivers bend?', { stream: true, stream_options }));
    expect(reply.status).toBe(200);
    const events = eventsOf(await reply.text());
    expect(events.at(-1)?.data).toBe('[DONE]');
    expect(events.some(({ json }) => json.choices?.[0]?.delta.reasoning)).toBe(true);
    expect(events.slice(0, -1).every(({ json }) => json.usage)).toBe(true);

    const models = (await (await fetch(`${url}/v1/models`)).json()) as { data: unknown[] };
    expect(models.data).toHaveLength(6);
  });

  it('logs the dashboard address and a sign-in that works there', async () => {
    const { adminUrl, output } = shared;
    const { dashboard, operator, password } = announced(output());
    expect(dashboard).toBe(`${adminUrl}/dashboard/`);
    const visitor = new DashboardVisitor(dashboard);
    expect((await visitor.signIn(password, operator)).location).toBe('.');
    const { text } = await visitor.get('keys?account=demo');
    expect(text).toContain('Issue a key');
    expect((await visitor.get('playground')).text).toContain('Why do rivers bend?');
  });

  it('creates a new key each time, accepts no other, and exits at once with code 0 on SIGINT, with a stream open', async () => {
    const { signal, exited, output } = await demo();
    const [first, second] = [shared.output(), output()].map(announced);
    expect(first!.key).not.toBe(second!.key);
    expect((await tried(JSON.stringify({ ...first, key: second!.key }))).status).toBe(401);
    const reply = await tried(output(), ask('Write a novel. [[sim:tokens=20000 tps=10]]', { stream: true }));
    const reader = reply.body!.getReader();
    await reader.read();
    const began_ms = performance.now();
    signal('SIGINT');
    expect(await exited).toBe(0);
    expect(performance.now() - began_ms).toBeLessThan(patience_ms(3000));
    await reader.cancel().catch(() => {});
  });

  it('serves a real server instead, with its key, by another adapter when told so', async () => {
    const simulator = await startSimulator({ api_key: 'sk-real', ttft_ms: 0, models: exampleModels });
    running.push(simulator);
    const { output } = await demo({
      UPSTREAM_URL: simulator.url,
      UPSTREAM_KEY: 'sk-real',
      UPSTREAM_ADAPTER: 'openai',
    });
    expect(output()).toContain(simulator.url);
    expect(output()).not.toMatch(/SIMULATED|sk-real/);
    const reply = await tried(output());
    await reply.text();
    expect(reply.status).toBe(200);
    expect(simulator.requests.at(-1)?.body).toMatchObject({ reasoning_effort: 'high' });
    expect(simulator.requests.at(-1)?.body).not.toHaveProperty('chat_template_kwargs');
  });

  it('asks a server with other models than the example for those that it has', async () => {
    const simulator = await startSimulator({ models: ['qwen3-8b', 'acme/small'], ttft_ms: 0 });
    running.push(simulator);
    const { url, output } = await demo({ UPSTREAM_URL: simulator.url });
    const { data } = (await (await fetch(`${url}/v1/models`)).json()) as { data: { id: string }[] };
    expect(data.map(({ id }) => id)).toEqual(['upstream/qwen3-8b', 'acme/small']);
    expect((await tried(output(), { ...ask('Hello'), model: 'upstream/qwen3-8b' })).status).toBe(200);
    expect(simulator.requests.at(-1)?.body).toMatchObject({
      model: 'qwen3-8b',
      chat_template_kwargs: { enable_thinking: true },
    });
  });

  it('prints a request to paste beside its log line where no terminal reads it', async () => {
    const { output } = shared;
    const printed = /^(curl -N [\s\S]*?'\{.*\}')$/m;
    await until(() => printed.test(output()));
    const [, command] = printed.exec(output())!;
    const reply = await promisify(execFile)('sh', ['-c', command!.replace('curl', `${pathOf('curl')} -sS`)]);
    expect(reply.stdout).toMatch(/"reasoning":[\s\S]*data: \[DONE\]\n\n$/);
  });

  it.each<[string, object, RegExp]>([
    [
      'a server that cannot be asked for its models',
      {},
      /UPSTREAM_URL could not be asked for its models: answered 401.*\n.*give it one/,
    ],
    [
      'an unknown adapter',
      { UPSTREAM_ADAPTER: 'vlm' },
      /UPSTREAM_ADAPTER must be one of: vllm, openai; not 'vlm'; did you mean 'vllm'/,
    ],
  ])('ends with what to do for %s', async (_, environment, says) => {
    const simulator = await startSimulator({ api_key: 'sk-real' });
    running.push(simulator);
    const variables = { UPSTREAM_URL: simulator.url, ...environment };
    const { code, stderr } = await runHere(['--port', '0', '--admin-port', '0'], variables);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(says) });
  });

  it.each([
    ['SIGTERM', 'a demo', ['--port', '0', '--admin-port', '0']],
    ['SIGKILL', 'a simulated server', ['simulate', '--port', '0']],
  ] as const)('ends when the npm that has started it gets %s: %s', async (name, _, args) => {
    const env = { ...process.env, npm_command: undefined };
    const npm = new PrintingProcess('npm', ['start', '--', ...args], { env });
    const [line, url = ''] = await npm.printed(/^\{.*?(http:\/\/[\d.:]+).*$/m);
    // What it tells people to type is what they have typed.
    expect(line).toMatch(/Simulated vLLM|http:\/\/…\/v1 npm start"/);
    npm.signal(name);
    // Its output is that of the process below as well, which goes on until both have ended.
    await npm.exited;
    await expect(fetch(`${url}/v1/models`)).rejects.toThrow();
  });
});
