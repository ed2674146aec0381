import { afterEach, describe, expect, it } from '@jest/globals';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { DashboardVisitor } from '../support/dashboard-visitor.ts';
import { ask, eventsOf } from '../support/gateway-under-test.ts';
import { PrintingProcess } from '../support/printing-process.ts';
import { type SidecarProcess, startDemo } from '../support/sidecar-process.ts';

const running: (SidecarProcess | Simulator)[] = [];

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
    const { url, output } = await demo();
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
    const { adminUrl, output } = await demo();
    const { dashboard, operator, password } = announced(output());
    expect(dashboard).toBe(`${adminUrl}/dashboard/`);
    const visitor = new DashboardVisitor(dashboard);
    expect((await visitor.signIn(password, operator)).location).toBe('.');
    const { text } = await visitor.get('account?id=demo');
    expect(text).toContain('Issue a key');
    expect((await visitor.get('playground')).text).toContain('Why do rivers bend?');
  });

  it('creates a new key each time and accepts no other', async () => {
    const [one, two] = [await demo(), await demo()];
    const [first, second] = [one, two].map(({ output }) => announced(output()));
    expect(first!.key).not.toBe(second!.key);
    expect((await tried(JSON.stringify({ ...first, key: second!.key }))).status).toBe(401);
  });

  it('serves a real server instead, with its key', async () => {
    const simulator = await startSimulator({ api_key: 'sk-real', ttft_ms: 0 });
    running.push(simulator);
    const { output } = await demo({ UPSTREAM_URL: simulator.url, UPSTREAM_KEY: 'sk-real' });
    expect(output()).toContain(simulator.url);
    expect(output()).not.toMatch(/SIMULATED|sk-real/);
    const reply = await tried(output());
    await reply.text();
    expect(reply.status).toBe(200);
    expect(simulator.requests.at(-1)?.body).toMatchObject({
      chat_template_kwargs: { enable_thinking: true },
    });
  });

  it('uses another adapter when told so', async () => {
    const simulator = await startSimulator();
    running.push(simulator);
    const { output } = await demo({ UPSTREAM_URL: simulator.url, UPSTREAM_ADAPTER: 'openai' });
    await (await tried(output())).text();
    expect(simulator.requests.at(-1)?.body).toMatchObject({ reasoning_effort: 'high' });
    expect(simulator.requests.at(-1)?.body).not.toHaveProperty('chat_template_kwargs');
  });

  it('refuses an unknown adapter', async () => {
    const environment = { UPSTREAM_URL: 'http://127.0.0.1:9/v1', UPSTREAM_ADAPTER: 'vlm' };
    await expect(demo(environment)).rejects.toThrow(
      /exited with 1; .*UPSTREAM_ADAPTER must be one of: vllm, openai; not 'vlm'; did you mean 'vllm'/,
    );
  });

  it.each(['SIGTERM', 'SIGINT'] as const)(
    'exits at once with code 0 on %s, with a stream open',
    async name => {
      const { signal, exited, output } = await demo();
      const reply = await tried(
        output(),
        ask('Write a novel. [[sim:tokens=20000 tps=10]]', { stream: true }),
      );
      const reader = reply.body!.getReader();
      await reader.read();
      const began_ms = performance.now();
      signal(name);
      expect(await exited).toBe(0);
      expect(performance.now() - began_ms).toBeLessThan(3000);
      await reader.cancel().catch(() => {});
    },
  );

  it.each([
    ['SIGTERM', 'a demo', ['--port', '0', '--admin-port', '0']],
    ['SIGKILL', 'a demo', ['--port', '0', '--admin-port', '0']],
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
