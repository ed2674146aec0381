import { afterEach, describe, expect, it } from '@jest/globals';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { DashboardVisitor } from '../support/dashboard-visitor.ts';
import { ask, eventsOf } from '../support/gateway-under-test.ts';
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

/** The request that the demo prints for trying it out: where it goes, with which headers and body. */
function invitation(output: string) {
  const [, url = ''] = /curl -N (http:\S+)/.exec(output) ?? [];
  const headers = Object.fromEntries(
    [...output.matchAll(/-H '([^:]+): ([^']+)'/g)].map(([, name = '', value = '']) => [name, value]),
  );
  const [, body = ''] = /-d '([^']+)'/.exec(output) ?? [];
  return { url, headers, body };
}

describe('sluice without a configuration', () => {
  it('serves the example catalog and prints a working request', async () => {
    const { url, output } = await demo();
    expect(output()).toMatch(/SIMULATED/);
    const printed = invitation(output());
    expect(printed.url).toBe(`${url}/v1/chat/completions`);
    const reply = await fetch(printed.url, { method: 'POST', headers: printed.headers, body: printed.body });
    expect(reply.status).toBe(200);
    const events = eventsOf(await reply.text());
    expect(events.at(-1)?.data).toBe('[DONE]');
    expect(events.some(({ json }) => json.choices?.[0]?.delta.reasoning)).toBe(true);
    expect(events.slice(0, -1).every(({ json }) => json.usage)).toBe(true);

    const models = (await (await fetch(`${url}/v1/models`)).json()) as { data: unknown[] };
    expect(models.data).toHaveLength(6);
  });

  it('prints the dashboard address and a sign-in that works there', async () => {
    const { adminUrl, output } = await demo();
    const [, address, name, password] =
      /Dashboard: (\S+) \(for this run: name (\S+), password ([\w-]+)\)/.exec(output()) ?? [];
    expect(address).toBe(`${adminUrl}/dashboard/`);
    const visitor = new DashboardVisitor(address!);
    expect((await visitor.signIn(password, name)).location).toBe('.');
    const { text } = await visitor.get('account?id=demo');
    expect(text).toContain('Issue a key');
    const [, playground, key] = /(\S+\/playground) with the key (\S+)/.exec(output()) ?? [];
    expect(playground).toBe(`${adminUrl}/dashboard/playground`);
    expect(`Bearer ${key}`).toBe(invitation(output()).headers.Authorization);
    expect((await visitor.get('playground')).text).toContain('Why do rivers bend?');
  });

  it('creates a new key each time and accepts no other', async () => {
    const [one, two] = [await demo(), await demo()];
    const keys = [one, two].map(({ output }) => invitation(output()).headers.Authorization);
    expect(keys[0]).not.toBe(keys[1]);
    const { url } = invitation(one.output());
    const body = JSON.stringify(ask('Hello'));
    const other = await fetch(url, { method: 'POST', headers: { authorization: keys[1] ?? '' }, body });
    expect(other.status).toBe(401);
  });

  it('serves a real server instead, with its key', async () => {
    const simulator = await startSimulator({ api_key: 'sk-real', ttft_ms: 0 });
    running.push(simulator);
    const { output } = await demo({ UPSTREAM_URL: simulator.url, UPSTREAM_KEY: 'sk-real' });
    expect(output()).toContain(simulator.url);
    expect(output()).not.toMatch(/SIMULATED|sk-real/);
    const { url, headers } = invitation(output());
    const reply = await fetch(url, { method: 'POST', headers, body: JSON.stringify(ask('Hello')) });
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
    const { url, headers } = invitation(output());
    await (await fetch(url, { method: 'POST', headers, body: JSON.stringify(ask('Hello')) })).text();
    expect(simulator.requests.at(-1)?.body).toMatchObject({ reasoning_effort: 'high' });
    expect(simulator.requests.at(-1)?.body).not.toHaveProperty('chat_template_kwargs');
  });

  it('refuses an unknown adapter', async () => {
    const environment = { UPSTREAM_URL: 'http://127.0.0.1:9/v1', UPSTREAM_ADAPTER: 'vlm' };
    await expect(demo(environment)).rejects.toThrow(
      /exited with 1; .*UPSTREAM_ADAPTER must be one of: vllm, openai; not 'vlm'; did you mean 'vllm'/,
    );
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('exits with code 0 on %s', async name => {
    const { signal, exited } = await demo();
    signal(name);
    expect(await exited).toBe(0);
  });
});
