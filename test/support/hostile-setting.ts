import { expect } from '@jest/globals';
import {
  ask,
  type ClientEvent,
  type ClientStream,
  type GatewayOverrides,
  type GatewayUnderTest,
  startGateway,
  upstreamKey,
} from './gateway-under-test.ts';
import { type ScriptedUpstream, startScriptedUpstream, whole } from './scripted-upstream.ts';
import { until } from './until.ts';

export interface Setting {
  readonly upstream: ScriptedUpstream;
  readonly gateway: GatewayUnderTest;
  /** How many idle connections to the upstream may be left: as many as there were requests at a time. */
  readonly connections: number;
  /** Sends a small request, streamed or not. */
  send(stream: boolean, more?: object): Promise<Response>;
  /** Sends a small streamed request and reads the reply to its end. */
  stream(more?: object): Promise<ClientStream>;
}

/** Rows for `it.each`: most cases apply to plain and streamed requests alike. */
export const bothWays = [
  { way: 'streamed', stream: true },
  { way: 'not streamed', stream: false },
] as const;

const open: Setting[] = [];

/** A gateway in front of a scripted upstream; closed by `closeHealthy`. */
export async function hostileSetting(
  overrides: Omit<GatewayOverrides, 'upstream'> = {},
  connections = 1,
): Promise<Setting> {
  const upstream = await startScriptedUpstream();
  const gateway = await startGateway({ upstream, ...overrides });
  const setting: Setting = {
    upstream,
    gateway,
    connections,
    send: (stream, more) => gateway.post(ask('Hello?', { stream, ...more })),
    stream: more => gateway.stream(ask('Hello?', more)),
  };
  open.push(setting);
  return setting;
}

/** For afterEach: expects the gateway to be healthy whatever the upstream did, then closes everything. */
export async function closeHealthy(): Promise<void> {
  const settings = open.splice(0);
  try {
    for (const setting of settings) await expectHealthy(setting);
  } finally {
    await Promise.all(
      settings.map(async ({ gateway, upstream }) => {
        await gateway.gateway.close(0);
        await gateway.close();
        await upstream.close();
      }),
    );
  }
}

/** Expects nothing in flight, every exchange counted, no unusable connection, and that the next requests work. */
async function expectHealthy({ gateway, upstream, connections, send, stream }: Setting): Promise<void> {
  await until(async () => (await gateway.metric('sluice_in_flight')) === 0);
  expect(gateway.gateway.inFlight).toBe(0);
  const before = await gateway.metric('sluice_requests_total');
  upstream.reply(whole(200, completion('In order.')));
  const reply = (await (await send(false)).json()) as { choices: { message: { content: string } }[] };
  expect(reply.choices[0]?.message.content).toBe('In order.');
  expect(contentOf(await stream())).toBe('In order.');
  await until(async () => (await gateway.metric('sluice_requests_total')) === before + 2);
  await until(() => upstream.open <= connections);
}

/** Fields in which every reply of the upstream identifies itself; no client may see any of these values. */
const internals = {
  id: 'chatcmpl-of-the-upstream',
  created: 1234567890,
  model: 'served-model-name',
  system_fingerprint: 'fp_of_the_upstream',
  service_tier: 'tier-of-the-upstream',
};

const usage = (prompt: number, completion: number, cached = 0) => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
  prompt_tokens_details: { cached_tokens: cached },
});

/** A whole reply of the upstream; `message` is put over the text. */
export const completion = (content: string | null, message: object = {}, more: object = {}) => ({
  ...internals,
  object: 'chat.completion',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content, ...message },
      finish_reason: 'stop',
      stop_reason: null,
    },
  ],
  usage: usage(7, 3),
  ...more,
});

/** A chunk of the upstream's stream. */
export const delta = (fields: object, finish_reason: string | null = null, more: object = {}, index = 0) => ({
  ...internals,
  object: 'chat.completion.chunk',
  choices: [{ index, delta: fields, logprobs: null, finish_reason, stop_reason: null }],
  ...more,
});

export const said = (content: string) => delta({ content });
export const finished = (reason = 'stop') => delta({}, reason);

/** The usage chunk after the last choice. */
export const used = (prompt: number, completion_tokens: number, cached = 0) => ({
  ...internals,
  object: 'chat.completion.chunk',
  choices: [],
  usage: usage(prompt, completion_tokens, cached),
});

/** Fails on anything that identifies the upstream. */
export function expectNoTrace(text: string, headers: Headers, { port }: ScriptedUpstream): void {
  const shown = `${[...headers].map(pair => pair.join(': ')).join('\n')}\n${text}`;
  const secrets = Object.values(internals).map(String);
  for (const secret of [...secrets, upstreamKey, `127.0.0.1:${port}`]) expect(shown).not.toContain(secret);
}

/** Expects a true HTTP status and the envelope with exactly its two keys. Returns the message. */
export async function expectRefusal(
  response: Response,
  status: number,
  type: string,
  message?: string,
): Promise<string> {
  const text = await response.text();
  expect({ status: response.status, text }).toEqual({ status, text });
  expect(response.headers.get('content-type')).toMatch(/^application\/json/);
  const body = JSON.parse(text) as { error: { message: string; type: string } };
  expect(body).toEqual({ error: { message: message ?? expect.any(String), type } });
  expect(body.error.message).not.toBe('');
  return body.error.message;
}

/** Expects a whole stream: roles first, the finish chunk last and with the usage, `[DONE]`. Returns its chunks. */
export function expectWholeStream(stream: ClientStream, content: string, finish = 'stop'): ClientEvent[] {
  expect({ status: stream.status, text: stream.text }).toEqual({ status: 200, text: stream.text });
  expect(stream.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  const chunks = stream.events.slice(0, -1);
  expect(stream.events.at(-1)?.data).toBe('[DONE]');
  expect(chunks[0]?.json.choices).toEqual([
    { index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null },
  ]);
  expect(chunks.at(-1)?.json.choices).toEqual([{ index: 0, delta: {}, finish_reason: finish }]);
  expect(chunks.at(-1)?.json.usage).toBeDefined();
  expect(finishesOf(chunks)).toEqual([finish]);
  for (const { event, json } of chunks) {
    expect(event).toBeUndefined();
    expect(Object.keys(json).filter(key => key !== 'usage')).toEqual([
      'id',
      'object',
      'created',
      'model',
      'choices',
    ]);
    expect([json.id, json.created]).toEqual([chunks[0]?.json.id, chunks[0]?.json.created]);
    expect([json.object, json.model]).toEqual(['chat.completion.chunk', 'aion-labs/aion-3.5']);
  }
  expect(contentOf(stream)).toBe(content);
  return chunks;
}

const choicesOf = (events: readonly ClientEvent[]) => events.flatMap(({ json }) => json.choices ?? []);

const finishesOf = (events: readonly ClientEvent[]): string[] =>
  choicesOf(events).flatMap(({ finish_reason }) => finish_reason ?? []);

/** The text of a stream, its deltas joined; of one choice if there are more. */
export const contentOf = ({ events }: ClientStream, of = 0): string =>
  choicesOf(events)
    .filter(({ index }) => index === of)
    .map(({ delta }) => delta.content ?? '')
    .join('');
