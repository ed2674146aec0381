import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI, { AuthenticationError } from 'openai';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { post } from '../support/chain-app.ts';
import { requestOf } from '../support/chain-connection.ts';
import { type ExampleProcess, startExample, stopExamples } from '../support/example-process.ts';
import { ask, clientKey, eventsOf } from '../support/gateway-under-test.ts';
import { expectRefusal } from '../support/hostile-setting.ts';
import { RawConnection, send } from '../support/raw-client.ts';
import { until } from '../support/until.ts';

/** A Node framework with the gateway in it, as a program that prints its address. */
interface Host {
  readonly name: string;
  readonly program: string;
  /** Where the gateway's paths begin; '' unless they are below a path. */
  readonly mount: string;
  /** Who answers paths below /v1 that the gateway does not have. */
  readonly unknown: 'gateway' | 'application';
  /** What the application's own error looks like; undefined if a program without a framework has no way to say. */
  readonly broken?: RegExp;
  /** Set if the host compresses replies that are not streams. */
  readonly compresses?: true;
}

const config = fileURLToPath(new URL('../../examples/sidecar/sluice.yaml', import.meta.url));
const own = { mount: '', unknown: 'application' } as const;
const express = {
  ...own,
  program: 'examples/mounted/server.ts',
  broken: /<pre>Error: an error of the application/,
  compresses: true,
} as const;
const [fastify, plain] = [/"message":"an error of the application"/, /^Internal Server Error$/];

/** In the order in which they start, in one process; Express 4 has one of its own, in which it stands for `express`. */
const hosts: readonly Host[] = [
  { ...express, name: 'Express 5' },
  { ...own, name: 'node:http', program: 'examples/hosts/node-http.ts' },
  { ...own, name: 'Fastify', program: 'examples/hosts/fastify.ts', unknown: 'gateway', broken: fastify },
  { ...own, name: 'Koa', program: 'examples/hosts/koa.ts', broken: plain },
  { ...own, name: 'Hono', program: 'examples/hosts/hono.ts', broken: plain },
  {
    name: 'Next.js, an API route',
    program: 'test/support/next-pages.ts',
    mount: '/api',
    unknown: 'gateway',
  },
];
const express4: Host = { ...express, name: 'Express 4' };

let simulator: Simulator;
let together: ExampleProcess;
let apart: ExampleProcess;

const urlsOf = (program: ExampleProcess) =>
  [...program.output().matchAll(/listening on (http:[^\s"]+)/g)].map(([, url]) => url!);
const urls = () => urlsOf(together);

const start = (programs: readonly string[], ...flags: readonly string[]) =>
  startExample([...flags, 'test/support/example-hosts.ts', config, ...programs], {
    ...{ UPSTREAM_URL: simulator.url, DEMO_KEY: clientKey, SLUICE_CONFIG: config, PORT: '0' },
  });

beforeAll(async () => {
  simulator = await startSimulator();
  [together, apart] = await Promise.all([
    start(hosts.map(({ program }) => program)),
    start([express4.program], '--import=./test/support/express-4.ts'),
  ]);
  await until(() => urls().length === hosts.length);
});

afterAll(async () => {
  await stopExamples();
  await simulator.close();
});

const endless = '[[sim:tokens=endless reasoning_tokens=1 tps=50]]';
/** A request as bytes. */
const askedOf = (path: string, body: object, key = clientKey) =>
  requestOf(body, path, { authorization: `Bearer ${key}`, 'accept-encoding': 'gzip' });

const processOf = (host: Host) => (host === express4 ? apart : together);
const urlOf = (host: Host) => (host === express4 ? apart.url : urls()[hosts.indexOf(host)]!);

describe.each([...hosts, express4].map(host => [host.name, host] as const))('a gateway in %s', (_, host) => {
  const chatPath = `${host.mount}/v1/chat/completions`;
  const url = () => urlOf(host);
  const base = () => `${url()}${host.mount}/v1`;
  const chat = () => `${base()}/chat/completions`;
  /** Log lines of exchanges that have ended, by their reason. */
  const ended = (reason: string) => processOf(host).output().split(`"end_reason":"${reason}"`).length - 1;

  it('lists the models without a key', async () => {
    const reply = await fetch(`${base()}/models`);
    expect(await reply.json()).toMatchObject({ data: [{ id: 'aion-labs/aion-3.5' }] });
  });

  it('answers a chat completion', async () => {
    const said = `Signs: ${'é€😀'.repeat(200)}.`;
    const reply = await post(chat(), ask(`What is that? [[sim:say=${said}]]`), {
      'accept-encoding': 'gzip',
    });
    expect(reply.headers.get('content-encoding')).toBe(host.compresses ? 'gzip' : null);
    expect(await reply.json()).toMatchObject({ choices: [{ message: { content: said } }] });
  });

  it('delivers a stream while it runs, and aborts the upstream when the client leaves', async () => {
    const { aborted } = simulator.stats;
    const before = ended('client_gone');
    const connection = new RawConnection(url());
    connection.write(askedOf(chatPath, ask(endless, { stream: true })));
    await connection.received(/"content":"[^"]/);
    expect(connection.text).not.toMatch(/content-encoding/i);
    expect(connection.text).not.toContain('[DONE]');
    connection.destroy();
    await until(() => simulator.stats.aborted === aborted + 1);
    await until(() => ended('client_gone') === before + 1);
  });

  it('refuses a wrong key and a wrong method in the error envelope', async () => {
    const unauthorized = await post(chat(), ask('?'), { authorization: 'Bearer nobody' });
    await expectRefusal(unauthorized, 401, 'authentication_error');
    const method = await fetch(chat());
    expect(method.headers.get('allow')).toBe('POST');
    await expectRefusal(method, 405, 'invalid_request_error');
  });

  it('leaves its own paths to the application, with their errors', async () => {
    expect((await send(`${url()}/`)).text).toBe('the application\n');
    expect((await send(`${url()}/nowhere`)).status).toBe(404);
    if (!host.broken) return;
    const broken = await send(`${url()}/broken`);
    expect(broken.status).toBe(500);
    expect(broken.text).toMatch(host.broken);
  });

  it(`leaves unknown paths below /v1 to the ${host.unknown}`, async () => {
    const reply = await fetch(`${base()}/unknown`);
    if (host.unknown === 'gateway') return void (await expectRefusal(reply, 404, 'invalid_request_error'));
    expect([reply.status, await reply.text()]).toEqual([404, expect.not.stringContaining('"error"')]);
  });

  it('refuses a body that is too large, and what is not JSON', async () => {
    const tooLarge = await post(chat(), `"${'x'.repeat(17_000_000)}"`);
    expect(tooLarge.status).toBe(413);
    await expectRefusal(tooLarge, 413, 'invalid_request_error');
    await expectRefusal(await post(chat(), '{"model": '), 400, 'invalid_request_error');
  });

  it('keeps the connection after an error', async () => {
    const connection = new RawConnection(url());
    connection.write(askedOf(chatPath, ask('?'), 'nobody'));
    await connection.received(/^HTTP\/1.1 401 .*[\s\S]*authentication_error/);
    connection.text = '';
    connection.write(`GET ${host.mount}/v1/models HTTP/1.1\r\nhost: x\r\n\r\n`);
    await connection.received(/^HTTP\/1.1 200 [\s\S]*aion-3.5/);
    connection.destroy();
  });

  it('serves the openai library', async () => {
    const client = new OpenAI({ baseURL: base(), apiKey: clientKey, maxRetries: 0 });
    const asked = {
      ...ask('[[sim:say=Signs.]]'),
      stream: true,
    } as OpenAI.ChatCompletionCreateParamsStreaming;
    let text = '';
    for await (const { choices } of await client.chat.completions.create(asked))
      text += choices[0]?.delta.content ?? '';
    expect(text).toBe('Signs.');
    const stranger = new OpenAI({ baseURL: base(), apiKey: 'nobody', maxRetries: 0 });
    await expect(stranger.chat.completions.create(asked)).rejects.toThrow(AuthenticationError);
  });
});

it('all let a running stream finish after SIGTERM, and exit', async () => {
  const all = [...hosts, express4];
  const replies = await Promise.all(
    all.map(host =>
      post(
        `${urlOf(host)}${host.mount}/v1/chat/completions`,
        ask('[[sim:tokens=8 reasoning_tokens=1 tps=10]]', { stream: true }),
      ),
    ),
  );
  const exited = Promise.all([together.stop(), apart.stop()]);
  for (const [at, reply] of replies.entries()) {
    const events = eventsOf(await reply.text());
    expect([all[at]!.name, events.at(-2)?.json.choices?.[0]?.finish_reason]).toEqual([all[at]!.name, 'stop']);
    expect(events.at(-1)?.data).toBe('[DONE]');
  }
  expect(await exited).toEqual([0, 0]);
});

it('all end a running stream with an error at the second SIGTERM, and exit', async () => {
  const again = await start(hosts.map(({ program }) => program));
  const listening = () => urlsOf(again);
  await until(() => listening().length === hosts.length);
  const chats = hosts.map(({ mount }, at) => `${listening()[at]}${mount}/v1/chat/completions`);
  const replies = await Promise.all(chats.map(chat => post(chat, ask(endless, { stream: true }))));
  const exited = again.stop();
  const refused = (chat: string) =>
    fetch(chat).then(
      ({ status }) => status >= 500,
      () => true,
    );
  await until(async () => (await Promise.all(chats.map(refused))).every(Boolean));
  void again.stop();
  for (const [at, reply] of replies.entries()) {
    const error = eventsOf(await reply.text()).at(-2)?.json.error;
    expect([hosts[at]!.name, error?.type]).toEqual([hosts[at]!.name, 'server_error']);
  }
  expect(await exited).toBe(0);
});
