import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { GatewayConfig } from '../../src/config/schema.ts';
import { DashboardVisitor } from '../support/dashboard-visitor.ts';
import { ask, clientKey, upstreamKey } from '../support/gateway-under-test.ts';
import { completion, finished, said, used } from '../support/hostile-setting.ts';
import { type RawReply, send } from '../support/raw-client.ts';
import {
  chunk,
  events,
  type Script,
  type ScriptedUpstream,
  startScriptedUpstream,
  streamed,
  streamHead,
  thenClose,
  whole,
} from '../support/scripted-upstream.ts';
import { type SidecarProcess, sidecarConfig, startSidecar } from '../support/sidecar-process.ts';
import { until } from '../support/until.ts';

/** Texts that no line of the log may have. */
const prompt = 'a canary that sings in the prompt of the client';
const answer = 'a canary that sings in the answer of the model';
const foreignKey = 'sk-canary-0123456789abcdef';

let upstream: ScriptedUpstream;
let sidecar: SidecarProcess;

beforeAll(async () => {
  upstream = await startScriptedUpstream();
  const config = {
    log: { level: 'debug' },
    server: { trust_proxy: true },
    admin: { port: 0, users: { operator: { password: 'the right canary word' } } },
    routing: { max_attempts: 2 },
    messages: { enabled: true },
    passthrough: [{ path: '/v1/embeddings', provider: 'upstream' }],
  } as Partial<GatewayConfig>;
  sidecar = await startSidecar(sidecarConfig(upstream.url, config));
});

afterAll(async () => {
  await sidecar?.stop();
  await upstream?.close();
});

const request = (path: string, body: string, headers: Record<string, string> = {}): Promise<RawReply> =>
  send(sidecar.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${clientKey}`, 'content-type': 'application/json', ...headers },
    body,
  });

/** The lines of a request, by its id, once the last one of them is there. */
async function linesOf(id: string): Promise<string[]> {
  const mine = () =>
    sidecar
      .output()
      .split('\n')
      .filter(line => line.includes(`"request_id":"${id}"`));
  await until(() => mine().some(line => line.includes('"end_reason"')));
  return mine();
}

/** Puts `expect` on something short: a line that fails would be printed. */
const controlsOf = (line: string) => line.match(/\p{Cc}|\p{Cf}/gu) ?? [];

let count = 0;

/** What the log has of a request; fails on secrets. */
async function logged(
  script: Script | undefined,
  { path = '/v1/chat/completions', body = JSON.stringify(ask(prompt)), headers = {} },
): Promise<string[]> {
  if (script) upstream.reply(script);
  const before = upstream.requests.length;
  const id = `log-content-${++count}`;
  await request(path, body, { 'x-request-id': id, ...headers }).catch(() => {});
  const lines = await linesOf(id);
  if (script) expect(upstream.requests.length).toBeGreaterThan(before);
  const text = lines.join('\n');
  for (const secret of [prompt, answer, 'canary', clientKey, upstreamKey]) expect(text).not.toContain(secret);
  return lines;
}

it("lists every field of an exchange's line in the documents", async () => {
  const page = readFileSync(new URL('../../docs/reference/logs.md', import.meta.url), 'utf8');
  const rows = page
    .slice(page.indexOf('## The line of an exchange'), page.indexOf('## Traces'))
    .matchAll(/^\| (`[^|]+) \|/gm);
  const listed = [...rows].flatMap(([, names]) => [...names!.matchAll(/`(\w+)`/g)].map(([, name]) => name));
  const body = JSON.stringify(ask('Hi', { stream: true }));
  const answered = streamed(events(said('x'), finished(), used(7, 3, 2), '[DONE]'));
  const lines = [...(await logged(answered, { body })), ...(await logged(undefined, { body: '{}' }))];
  const fields = lines
    .filter(line => line.includes('"end_reason"'))
    .flatMap(line => Object.keys(JSON.parse(line)));
  expect(fields).toEqual(expect.arrayContaining(['ttft_ms', 'error_type', 'attempts', 'cached_tokens']));
  expect([...new Set(fields)].filter(field => !listed.includes(field))).toEqual([]);
});

it('has the address of the client, by the proxy that is trusted, on its line and on that of its error', async () => {
  const failing = whole(400, { error: { message: 'No.' } });
  const lines = await logged(failing, { headers: { 'x-forwarded-for': '203.0.113.9, 198.51.100.4' } });
  const addresses = lines.map(line => (JSON.parse(line) as { client_address?: string }).client_address);
  expect(lines.some(line => line.includes('"end_reason"'))).toBe(true);
  expect(lines.length).toBeGreaterThan(1);
  expect([...new Set(addresses)]).toEqual(['198.51.100.4']);
});

const streaming = JSON.stringify(ask(prompt, { stream: true }));

describe('a line of the log has neither key nor prompt nor answer', () => {
  it.each<[string, Parameters<typeof logged>[1]]>([
    ['a body that is no JSON', { body: `{"messages": "${prompt}` }],
    ['a body that is text', { body: prompt }],
    ['a body that is a string', { body: JSON.stringify(prompt) }],
    ['text behind the body', { body: `${JSON.stringify(ask('Hi'))} ${prompt}` }],
    [
      'a role that is wrong',
      { body: JSON.stringify({ ...ask(''), messages: [{ role: 'x', content: prompt }] }) },
    ],
    ['a content that is wrong', { body: JSON.stringify(ask({ text: prompt } as never)) }],
    ['a parameter that is wrong', { body: JSON.stringify(ask(prompt, { temperature: 7, max_tokens: 0 })) }],
    ['a key that is unknown', { headers: { authorization: `Bearer ${foreignKey}` } }],
    ['a key in another scheme', { headers: { authorization: `Basic ${foreignKey}` } }],
    ['a key in the query', { path: `/v1/chat/completions?key=${foreignKey}` }],
    ['a path that is unknown', { path: `/v1/unknown?text=${encodeURIComponent(prompt)}` }],
    ['a cookie', { headers: { cookie: `session=${foreignKey}`, referer: prompt, 'user-agent': prompt } }],
    [
      'the responses endpoint',
      { path: '/v1/responses', body: JSON.stringify({ model: 'x', input: prompt }) },
    ],
    ['the messages endpoint', { path: '/v1/messages', body: JSON.stringify({ model: 'x', system: prompt }) }],
  ])('of a refused request: %s', async (_, sent) => {
    upstream.reply(whole(200, completion('Hello')));
    await logged(undefined, sent);
  });

  const spoken = events(said(answer));
  it.each<[string, Script]>([
    ['whole', whole(200, completion(answer))],
    ['no JSON', whole(200, answer)],
    ['JSON that is cut off', whole(200, `{"choices":[{"message":{"content":"${answer}`)],
    ['a stream with an event that is no JSON', streamed(`${spoken}data: {"x": ${answer}\n\n`)],
    ['a stream that breaks off', thenClose(streamHead(), chunk(spoken))],
    [
      'a stream with an error',
      streamed(`${spoken}${events({ error: { message: 'overloaded', code: 503 } })}`),
    ],
    ['an error with its key', whole(401, { error: { message: `Incorrect API key: ${upstreamKey}` } })],
    ['a refusal that quotes', whole(400, { error: { message: `Invalid text: '${prompt}' is too long` } })],
    ['an error that quotes', whole(503, { error: { message: `cannot render "${prompt}"`, input: prompt } })],
    [
      'a validation error',
      whole(422, { detail: [{ loc: ['body'], msg: `not valid: ${prompt}`, input: prompt }] }),
    ],
    ['an error page that quotes', whole(500, `<html>${prompt}</html>`, { 'content-type': 'text/html' })],
    ['an error event that quotes', streamed(events(said('x'), { error: { message: `bad: ${prompt}` } }))],
    ['no HTTP', thenClose(`${answer}\r\n\r\n`)],
  ])('of an answer that is %s', async (_, script) => {
    for (const body of [JSON.stringify(ask(prompt)), streaming]) await logged(script, { body });
  });

  it('nor a password, of operators who sign in', async () => {
    const visitor = new DashboardVisitor(`${sidecar.adminUrl}/dashboard/`);
    await visitor.signIn('the wrong canary word', 'operator');
    await visitor.signIn('the right canary word', 'operator');
    await until(() => sidecar.output().includes('"msg":"signed in"'));
    expect(sidecar.output()).toContain('sign-in refused');
    expect(sidecar.output()).not.toContain('canary word');
  });

  it('of a request that is passed through', async () => {
    const body = JSON.stringify({ model: 'm', input: prompt });
    await logged(whole(200, { data: [answer], usage: { prompt_tokens: 1 } }), {
      path: '/v1/embeddings',
      body,
    });
  });
});

describe('a line of the log is bounded and cannot control a terminal', () => {
  const huge = '\u001b[2J\u009b31m\n{"level":60}'.repeat(20_000);
  const path = `/v1/${'a'.repeat(14_000)}`;

  it.each<[string, Script, Parameters<typeof logged>[1]]>([
    ['a path', '', { path }],
    ['a name of a model', '', { body: JSON.stringify(ask('Hi', { model: huge })) }],
    ['an error message', whole(400, { error: { message: huge } }), {}],
    ['an error in a stream', streamed(events(said('x'), { error: { message: huge } })), { body: streaming }],
    ['a header of the reply', whole(503, {}, { 'retry-after': 'x'.repeat(8000) }), {}],
    [
      'a finish reason',
      whole(200, JSON.stringify(completion('x')).replace('"stop"', JSON.stringify(huge))),
      {},
    ],
    ['an encoding', '', { headers: { 'content-encoding': 'x'.repeat(8000) } }],
  ])('with %s that is long', async (_, script, sent) => {
    for (const line of await logged(script, sent)) {
      expect(line.length).toBeLessThan(20_000);
      expect(controlsOf(line)).toEqual([]);
      expect(() => JSON.parse(line)).not.toThrow();
    }
  });
});

it("tells a provider's outage once in ten seconds, and in the line of each exchange", async () => {
  const ids = await Promise.all(
    Array.from({ length: 5 }, async (_, at) => {
      upstream.reply(whole(507, { error: { message: 'out of disk' } }));
      const id = `outage-${at}`;
      await request('/v1/chat/completions', JSON.stringify(ask('Hi')), { 'x-request-id': id });
      return id;
    }),
  );
  const lines = (await Promise.all(ids.map(linesOf))).flat().map(line => JSON.parse(line));
  const told = lines.filter(({ end_reason }) => end_reason === undefined).map(({ msg }) => msg);
  expect(told.sort()).toEqual([...new Set(told)]);
  expect(told).toContain('The upstream provider returned an error.');
  const ends = lines.filter(({ end_reason }) => end_reason === 'upstream_failed');
  expect(ends.map(({ attempts }) => attempts.at(-1))).toEqual(
    ids.map(() =>
      expect.objectContaining({ status: 507, error_message: expect.stringContaining('out of disk') }),
    ),
  );
});
