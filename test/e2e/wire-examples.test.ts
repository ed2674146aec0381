import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import {
  chunk,
  events,
  lastChunk,
  type Script,
  type ScriptedUpstream,
  startScriptedUpstream,
  streamed,
  streamHead,
  thenClose,
  whole,
} from '../support/scripted-upstream.ts';

/** The examples of the protocol, byte for byte, but for the ids and dates that every reply has for itself. */

const model = 'aion-labs/aion-3.5';
const chat = {
  path: '/v1/chat/completions',
  body: { model, messages: [{ role: 'user', content: 'Hello' }] },
};
const response = { path: '/v1/responses', body: { model, input: 'Hello' } };
let upstream: ScriptedUpstream;
let gateway: GatewayUnderTest;

beforeAll(async () => {
  upstream = await startScriptedUpstream();
  gateway = await startGateway({ upstream });
});

afterAll(async () => {
  await gateway?.close();
  await upstream?.close();
});

const usage = (completion: number, details?: object) => ({
  ...{ prompt_tokens: 12, total_tokens: 12 + completion, completion_tokens: completion },
  ...details,
});
const cached = { prompt_tokens_details: { cached_tokens: 4 } };
const reasoned = { ...cached, completion_tokens_details: { reasoning_tokens: 5 } };

/** A chunk as vLLM writes it, with its running usage and much that no client gets. */
const said = (delta: object, completion: number, finish_reason: string | null = null) => ({
  ...{ id: 'chatcmpl-upstream', object: 'chat.completion.chunk', created: 1, model: 'aion-3.5' },
  choices: [{ index: 0, delta, logprobs: null, finish_reason, token_ids: null }],
  usage: usage(completion),
});
const role = said({ role: 'assistant', content: '' }, 0);
const reasoning = said({ reasoning: 'The user greets me.' }, 5);
const streamOf = (details: object, ...chunks: object[]) =>
  streamed(events(role, ...chunks, { choices: [], usage: usage(9, details) }, '[DONE]'));
const hello = [said({ content: 'Hello' }, 6), said({ content: ' there.' }, 8), said({}, 9, 'stop')];
const reply = (details: object) =>
  whole(200, {
    ...{ id: 'chatcmpl-upstream', object: 'chat.completion', created: 1, model: 'aion-3.5' },
    system_fingerprint: 'vllm-0.11',
    choices: [
      {
        index: 0,
        message: {
          ...{ role: 'assistant', content: 'Hello there.', reasoning: 'The user greets me.' },
          ...{ refusal: null, annotations: null },
        },
        ...{ logprobs: null, finish_reason: 'stop', stop_reason: null },
      },
    ],
    usage: usage(9, details),
    kv_transfer_params: null,
  });

/** The text with the example's id and dates in place of its own, which must be the same throughout. */
function named(text: string): string {
  const [, prefix = '', key = ''] = /"id":"(chatcmpl-|resp_)([^"]+)"/.exec(text) ?? [];
  if (prefix === '') return text;
  expect(key.length).toBeGreaterThan(10);
  for (const [, date] of text.matchAll(/"(?:created|created_at|completed_at)":(\d+)/g))
    expect(Math.abs(Number(date) - Date.now() / 1000)).toBeLessThan(120);
  return text
    .replaceAll(key, prefix === 'resp_' ? '5f2' : '7Yk')
    .replace(/"(created|created_at)":\d+/g, '"$1":1795132800')
    .replace(/"completed_at":\d+/g, '"completed_at":1795132801');
}

const shownUsage = (completion: number, cache: number) =>
  `,"usage":{"prompt_tokens":12,"completion_tokens":${completion},"total_tokens":${12 + completion},"prompt_tokens_details":{"cached_tokens":${cache}}}`;
const begin =
  '{"id":"chatcmpl-7Yk","object":"chat.completion.chunk","created":1795132800,"model":"aion-labs/aion-3.5","choices":[{"index":0,';
const middle = (delta: string, completion?: number): string =>
  `data: ${begin}"delta":${delta},"finish_reason":null}]${completion === undefined ? '' : shownUsage(completion, 0)}}\n\n`;
const last = (finish: string) =>
  `data: ${begin}"delta":{},"finish_reason":"${finish}"}]${shownUsage(9, 4)}}\n\ndata: [DONE]\n\n`;
const shownRole = '{"role":"assistant","content":""}';
const broke = 'The upstream provider closed the stream unexpectedly.';
const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'roll', arguments: '' } };
const bytes = [...Buffer.from(events(role, said({ content: 'Grüße 🌊' }, 3), ...hello.slice(2), '[DONE]'))];

const head = (status: string) =>
  `{"id":"resp_5f2","object":"response","created_at":1795132800,"model":"aion-labs/aion-3.5","status":"${status}","output":`;
const neutral =
  '"instructions":null,"max_output_tokens":null,"max_tool_calls":null,"metadata":{},"parallel_tool_calls":true,"previous_response_id":null,"reasoning":{"effort":"high","summary":null},"store":false,"background":false,"service_tier":"default","temperature":1,"top_p":1,"presence_penalty":0,"frequency_penalty":0,"top_logprobs":0,"text":{"format":{"type":"text"}},"tool_choice":"auto","tools":[],"truncation":"disabled","user":null,"safety_identifier":null,"prompt_cache_key":null}';
const responseUsage =
  '{"input_tokens":12,"output_tokens":9,"total_tokens":21,"input_tokens_details":{"cached_tokens":4},"output_tokens_details":{"reasoning_tokens":5}}';
const begun = `${head('in_progress')}[],"usage":null,"completed_at":null,"error":null,"incomplete_details":null,${neutral}`;
const finished = `${head('completed')}[{"id":"msg_5f2","type":"message","status":"completed","role":"assistant","content":[{"type":"reasoning","text":"The user greets me."},{"type":"output_text","text":"Hello there.","annotations":[]}]}],"usage":${responseUsage},"completed_at":1795132801,"error":null,"incomplete_details":null,${neutral}`;
const failed = begun
  .replace('"status":"in_progress"', '"status":"failed"')
  .replace('"error":null', `"error":{"code":"server_error","message":"${broke}"}`);
/** Events of a response by their type and members, numbered. */
const numbered = (...rows: readonly (readonly [type: string, members: string])[]) =>
  rows
    .map(
      ([type, members], at) =>
        `event: ${type}\ndata: {"type":"${type}","sequence_number":${at},${members}}\n\n`,
    )
    .join('');
const created = ['response.created', 'response.in_progress'].map(
  type => [type, `"response":${begun}`] as const,
);
const place = (id: string, at: number) => `"item_id":"${id}_5f2","output_index":${at},"content_index":0`;
const part = (text: string) => `"part":{"type":"reasoning_text","text":"${text}"}`;
const textPart = (text: string) =>
  `"part":{"type":"output_text","text":"${text}","annotations":[],"logprobs":[]}`;
const thought = '"item":{"id":"rs_5f2","type":"reasoning","status"';
const message = '"item":{"id":"msg_5f2","type":"message","status"';
const thinking = [
  ['response.output_item.added', `"output_index":0,${thought}:"in_progress","summary":[],"content":[]}`],
  ['response.content_part.added', `${place('rs', 0)},${part('')}`],
  [
    'response.reasoning_text.delta',
    `${place('rs', 0)},"delta":"The user greets me.","delta_type":"reasoning"`,
  ],
] as const;
const greeting = [
  ['response.reasoning_text.done', `${place('rs', 0)},"text":"The user greets me."`],
  ['response.content_part.done', `${place('rs', 0)},${part('The user greets me.')}`],
  [
    'response.output_item.done',
    `"output_index":0,${thought}:"completed","summary":[],"content":[{"type":"reasoning_text","text":"The user greets me."}]}`,
  ],
  [
    'response.output_item.added',
    `"output_index":1,${message}:"in_progress","role":"assistant","content":[]}`,
  ],
  ['response.content_part.added', `${place('msg', 1)},${textPart('')}`],
  [
    'response.output_text.delta',
    `${place('msg', 1)},"delta":"Hello there.","logprobs":[],"delta_type":"text"`,
  ],
  ['response.output_text.done', `${place('msg', 1)},"text":"Hello there.","logprobs":[]`],
  ['response.content_part.done', `${place('msg', 1)},${textPart('Hello there.')}`],
  [
    'response.output_item.done',
    `"output_index":1,${message}:"completed","role":"assistant","content":[{"type":"output_text","text":"Hello there.","annotations":[]}]}`,
  ],
  ['response.completed', `"response":${finished},"usage":${responseUsage}`],
] as const;
const errorMembers = `"code":"provider_error","message":"${broke}","param":null,"error":{"message":"${broke}","type":"provider_error","code":"provider_error","param":null}`;

interface Example {
  readonly title: string;
  readonly of: typeof chat | typeof response;
  readonly asked?: object;
  readonly plays: Script;
  readonly text: string;
}

const streams: readonly Example[] = [
  {
    title: '3.1: reasoning apart, usage on the last chunk',
    of: chat,
    plays: streamOf(cached, reasoning, ...hello),
    text: `${middle(shownRole)}${middle('{"reasoning":"The user greets me."}')}${middle('{"content":"Hello"}')}${middle('{"content":" there."}')}${last('stop')}`,
  },
  {
    title: '3.2: usage on every chunk',
    of: chat,
    asked: { stream_options: { continuous_usage_stats: true } },
    plays: streamOf(cached, reasoning, ...hello),
    text: `${middle(shownRole, 0)}${middle('{"reasoning":"The user greets me."}', 5)}${middle('{"content":"Hello"}', 6)}${middle('{"content":" there."}', 8)}${last('stop')}`,
  },
  {
    title: '3.3: reasoning in the content, between tags',
    of: chat,
    asked: { reasoning_split: false },
    plays: streamOf(
      cached,
      said({ reasoning: 'The user' }, 2),
      said({ reasoning: ' greets me.' }, 5),
      ...hello,
    ),
    text: `${middle(shownRole)}${middle('{"content":"<think>The user"}')}${middle('{"content":" greets me."}')}${middle('{"content":"</think>Hello"}')}${middle('{"content":" there."}')}${last('stop')}`,
  },
  {
    title: '3.3: a tool call',
    of: chat,
    asked: { tools: [{ type: 'function', function: { name: 'roll' } }] },
    plays: streamOf(
      cached,
      said({ tool_calls: [call] }, 4),
      said({ tool_calls: [{ index: 0, function: { arguments: '{"d":20}' } }] }, 8),
      said({ content: '' }, 9, 'tool_calls'),
    ),
    text: `${middle(shownRole)}${middle(`{"tool_calls":[${JSON.stringify(call)}]}`)}${middle('{"tool_calls":[{"index":0,"function":{"arguments":"{\\"d\\":20}"}}]}')}${last('tool_calls')}`,
  },
  {
    title: '3.6: a response',
    of: response,
    plays: streamOf(reasoned, reasoning, said({ content: 'Hello there.' }, 8), said({}, 9, 'stop')),
    text: `${numbered(...created, ...thinking, ...greeting)}data: [DONE]\n\n`,
  },
  {
    title: '3.7: a response whose upstream breaks off',
    of: response,
    plays: thenClose(streamHead(), chunk(events(role, reasoning))),
    text: `${numbered(...created, ...thinking, ['error', errorMembers], ['response.failed', `"response":${failed}`])}data: [DONE]\n\n`,
  },
  {
    title: '3.1, whatever network pieces the upstream sends',
    of: chat,
    plays: Buffer.concat([
      Buffer.from(streamHead()),
      ...bytes.map(byte => chunk(Buffer.of(byte))),
      Buffer.from(lastChunk),
    ]),
    text: `${middle(shownRole)}${middle('{"content":"Grüße 🌊"}')}${last('stop').replace('"cached_tokens":4', '"cached_tokens":0')}`,
  },
];

describe('a stream on the wire', () => {
  it.each(streams)('matches example $title', async ({ of: { path, body }, asked, plays, text }) => {
    upstream.reply(plays);
    const stream = await gateway.stream({ ...body, ...asked }, { path });
    expect([stream.status, named(stream.text)]).toEqual([200, text]);
    const headers = Object.fromEntries(stream.headers);
    // Nothing that has proxies buffer it.
    expect(headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      'x-request-id': expect.stringMatching(/^req_./),
    });
    expect(Object.keys(headers)).not.toEqual(expect.arrayContaining(['content-length', 'content-encoding']));
  });

  it('matches example 3.4: an error after the start', async () => {
    upstream.reply(socket => {
      socket.write(streamHead());
      // biome-ignore lint/plugin: the example begins its stream before this time.
      setTimeout(() => socket.end(), 400);
    });
    const hasty = await startGateway({ upstream, server: { stream_commit_ms: 100 } });
    const { status, text } = await hasty.stream(chat.body).finally(hasty.close);
    const error = `data: {"error":{"message":"${broke}","type":"provider_error"}}\n\n`;
    expect([status, text]).toEqual([200, `: keep-alive\n\n${error}data: [DONE]\n\n`]);
  });
});

describe('a whole reply on the wire', () => {
  const completion = (cache: number) =>
    `{"id":"chatcmpl-7Yk","object":"chat.completion","created":1795132800,"model":"aion-labs/aion-3.5","choices":[{"index":0,"message":{"role":"assistant","content":"Hello there.","reasoning":"The user greets me."},"finish_reason":"stop"}]${shownUsage(9, cache)}}`;

  it.each([
    ['a completion', chat, cached, completion(4)],
    ['a completion without a word about the cache', chat, { prompt_tokens_details: null }, completion(0)],
    ['a response (3.5)', response, reasoned, finished],
  ])(
    'has the fields of the interface and nothing of the upstream: %s',
    async (_, { path, body }, details, text) => {
      upstream.reply(reply(details));
      const answer = await gateway.post(body, { path });
      const told = await answer.text();
      expect([answer.status, named(told)]).toEqual([200, text]);
      expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(answer.headers.get('content-length')).toBe(String(Buffer.byteLength(told)));
      expect(upstream.last.path).toBe('/v1/chat/completions');
      expect(upstream.last.body).toEqual({
        ...{ model: 'aion-3.5', messages: chat.body.messages, reasoning_effort: 'high' },
        chat_template_kwargs: { enable_thinking: true },
      });
    },
  );
});
