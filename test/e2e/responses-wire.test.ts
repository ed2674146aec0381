import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import {
  chunk,
  events,
  type ScriptedUpstream,
  startScriptedUpstream,
  streamed,
  streamHead,
  thenClose,
  whole,
} from '../support/scripted-upstream.ts';

/** The examples of the protocol, byte for byte, but for the ids and dates that every reply has for itself. */

const path = '/v1/responses';
const model = 'aion-labs/aion-3.5';
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
  prompt_tokens: 12,
  total_tokens: 12 + completion,
  completion_tokens: completion,
  ...details,
});
const details = {
  prompt_tokens_details: { cached_tokens: 4 },
  completion_tokens_details: { reasoning_tokens: 5 },
};

/** A chunk as vLLM writes it, with its running usage. */
const upstreamChunk = (delta: object, completion: number, finish_reason: string | null = null) => ({
  id: 'chatcmpl-upstream',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'aion-3.5',
  choices: [{ index: 0, delta, logprobs: null, finish_reason, token_ids: null }],
  usage: usage(completion),
});

const role = upstreamChunk({ role: 'assistant', content: '' }, 0);
const finalUsage = (completion: number) => ({ choices: [], usage: usage(completion, details) });
const reasoning = upstreamChunk({ reasoning: 'The user greets me.' }, 5);
const hello = upstreamChunk({ content: 'Hello there.' }, 8);

const greeting = streamed(
  events(role, reasoning, hello, upstreamChunk({}, 9, 'stop'), finalUsage(9), '[DONE]'),
);

/** The text with the example's id and dates in place of its own, which must be the same throughout. */
function named(text: string): string {
  const [, key = ''] = /"id":"resp_([^"]+)"/.exec(text) ?? [];
  expect(key.length).toBeGreaterThan(10);
  const dates = [...text.matchAll(/"(?:created_at|completed_at)":(\d+)/g)].map(([, date]) => Number(date));
  for (const date of dates) expect(Math.abs(date - Date.now() / 1000)).toBeLessThan(120);
  return text
    .replaceAll(key, '5f2')
    .replace(/"created_at":\d+/g, '"created_at":1795132800')
    .replace(/"completed_at":\d+/g, '"completed_at":1795132801');
}

const shownUsage =
  '{"input_tokens":12,"output_tokens":9,"total_tokens":21,"input_tokens_details":{"cached_tokens":4},"output_tokens_details":{"reasoning_tokens":5}}';
const head = (status: string) =>
  `{"id":"resp_5f2","object":"response","created_at":1795132800,"model":"aion-labs/aion-3.5","status":"${status}","output":`;
const neutral =
  '"instructions":null,"max_output_tokens":null,"max_tool_calls":null,"metadata":{},"parallel_tool_calls":true,"previous_response_id":null,"reasoning":{"effort":"high","summary":null},"store":false,"background":false,"service_tier":"default","temperature":1,"top_p":1,"presence_penalty":0,"frequency_penalty":0,"top_logprobs":0,"text":{"format":{"type":"text"}},"tool_choice":"auto","tools":[],"truncation":"disabled","user":null,"safety_identifier":null,"prompt_cache_key":null}';
const begun = `${head('in_progress')}[],"usage":null,"completed_at":null,"error":null,"incomplete_details":null,${neutral}`;
const finished = `${head('completed')}[{"id":"msg_5f2","type":"message","status":"completed","role":"assistant","content":[{"type":"reasoning","text":"The user greets me."},{"type":"output_text","text":"Hello there.","annotations":[]}]}],"usage":${shownUsage},"completed_at":1795132801,"error":null,"incomplete_details":null,${neutral}`;

describe('a response on the wire', () => {
  it('matches example 3.5', async () => {
    upstream.reply(
      whole(200, {
        choices: [
          {
            index: 0,
            message: { role: 'assistant', content: 'Hello there.', reasoning: 'The user greets me.' },
            finish_reason: 'stop',
          },
        ],
        usage: usage(9, details),
      }),
    );
    const reply = await gateway.post({ model, input: 'Hello' }, { path });
    expect(reply.status).toBe(200);
    expect(reply.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(named(await reply.text())).toBe(finished);
    expect(upstream.last.path).toBe('/v1/chat/completions');
    expect(upstream.last.body).toEqual({
      model: 'aion-3.5',
      messages: [{ role: 'user', content: 'Hello' }],
      reasoning_effort: 'high',
      chat_template_kwargs: { enable_thinking: true },
    });
  });

  it('matches example 3.6 as a stream', async () => {
    upstream.reply(greeting);
    const { status, headers, text } = await gateway.stream({ model, input: 'Hello' }, { path });
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(named(text)).toBe(`event: response.created
data: {"type":"response.created","sequence_number":0,"response":${begun}}

event: response.in_progress
data: {"type":"response.in_progress","sequence_number":1,"response":${begun}}

event: response.output_item.added
data: {"type":"response.output_item.added","sequence_number":2,"output_index":0,"item":{"id":"rs_5f2","type":"reasoning","status":"in_progress","summary":[],"content":[]}}

event: response.content_part.added
data: {"type":"response.content_part.added","sequence_number":3,"item_id":"rs_5f2","output_index":0,"content_index":0,"part":{"type":"reasoning_text","text":""}}

event: response.reasoning_text.delta
data: {"type":"response.reasoning_text.delta","sequence_number":4,"item_id":"rs_5f2","output_index":0,"content_index":0,"delta":"The user greets me.","delta_type":"reasoning"}

event: response.reasoning_text.done
data: {"type":"response.reasoning_text.done","sequence_number":5,"item_id":"rs_5f2","output_index":0,"content_index":0,"text":"The user greets me."}

event: response.content_part.done
data: {"type":"response.content_part.done","sequence_number":6,"item_id":"rs_5f2","output_index":0,"content_index":0,"part":{"type":"reasoning_text","text":"The user greets me."}}

event: response.output_item.done
data: {"type":"response.output_item.done","sequence_number":7,"output_index":0,"item":{"id":"rs_5f2","type":"reasoning","status":"completed","summary":[],"content":[{"type":"reasoning_text","text":"The user greets me."}]}}

event: response.output_item.added
data: {"type":"response.output_item.added","sequence_number":8,"output_index":1,"item":{"id":"msg_5f2","type":"message","status":"in_progress","role":"assistant","content":[]}}

event: response.content_part.added
data: {"type":"response.content_part.added","sequence_number":9,"item_id":"msg_5f2","output_index":1,"content_index":0,"part":{"type":"output_text","text":"","annotations":[],"logprobs":[]}}

event: response.output_text.delta
data: {"type":"response.output_text.delta","sequence_number":10,"item_id":"msg_5f2","output_index":1,"content_index":0,"delta":"Hello there.","logprobs":[],"delta_type":"text"}

event: response.output_text.done
data: {"type":"response.output_text.done","sequence_number":11,"item_id":"msg_5f2","output_index":1,"content_index":0,"text":"Hello there.","logprobs":[]}

event: response.content_part.done
data: {"type":"response.content_part.done","sequence_number":12,"item_id":"msg_5f2","output_index":1,"content_index":0,"part":{"type":"output_text","text":"Hello there.","annotations":[],"logprobs":[]}}

event: response.output_item.done
data: {"type":"response.output_item.done","sequence_number":13,"output_index":1,"item":{"id":"msg_5f2","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Hello there.","annotations":[]}]}}

event: response.completed
data: {"type":"response.completed","sequence_number":14,"response":${finished},"usage":${shownUsage}}

data: [DONE]

`);
  });

  it('matches example 3.7 when its upstream breaks off', async () => {
    upstream.reply(thenClose(streamHead(), chunk(events(role, reasoning))));
    const { status, text } = await gateway.stream({ model, input: 'Hello' }, { path });
    expect(status).toBe(200);
    const message = 'The upstream provider closed the stream unexpectedly.';
    const failed = begun
      .replace('"status":"in_progress"', '"status":"failed"')
      .replace('"error":null', `"error":{"code":"server_error","message":"${message}"}`);
    expect(named(text).slice(named(text).indexOf('event: error'))).toBe(`event: error
data: {"type":"error","sequence_number":5,"code":"provider_error","message":"${message}","param":null,"error":{"message":"${message}","type":"provider_error","code":"provider_error","param":null}}

event: response.failed
data: {"type":"response.failed","sequence_number":6,"response":${failed}}

data: [DONE]

`);
  });
});
