import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ask, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import {
  chunk,
  events,
  lastChunk,
  type ScriptedUpstream,
  startScriptedUpstream,
  streamed,
  streamHead,
} from '../support/scripted-upstream.ts';

/** The examples of the protocol, byte for byte, but for the ids and dates that every reply has for itself. */

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

const usage = (completion: number, details?: { cached_tokens: number }) => ({
  prompt_tokens: 12,
  total_tokens: 12 + completion,
  completion_tokens: completion,
  ...(details && { prompt_tokens_details: details }),
});

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
const finalUsage = {
  id: 'chatcmpl-upstream',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'aion-3.5',
  choices: [],
  usage: usage(9, { cached_tokens: 4 }),
};

const greeting = streamed(
  events(
    role,
    upstreamChunk({ reasoning: 'The user greets me.' }, 5),
    upstreamChunk({ content: 'Hello' }, 6),
    upstreamChunk({ content: ' there.' }, 8),
    upstreamChunk({}, 9, 'stop'),
    finalUsage,
    '[DONE]',
  ),
);

/** The text with the example's id and date in place of its own, which must be the same throughout. */
function named(text: string): string {
  const [id = '', key = ''] = /"id":"chatcmpl-([^"]+)"/.exec(text) ?? [];
  const [created = '', seconds = ''] = /"created":(\d+)/.exec(text) ?? [];
  expect(key.length).toBeGreaterThan(10);
  expect(Math.abs(Number(seconds) - Date.now() / 1000)).toBeLessThan(120);
  return text.replaceAll(id, '"id":"chatcmpl-7Yk"').replaceAll(created, '"created":1795132800');
}

const head =
  '{"id":"chatcmpl-7Yk","object":"chat.completion.chunk","created":1795132800,"model":"aion-labs/aion-3.5","choices":[{"index":0,';
const middle = (delta: string, more = ''): string =>
  `data: ${head}"delta":${delta},"finish_reason":null}]${more}}\n\n`;
const last = (finish_reason: string, completion: number): string =>
  `data: ${head}"delta":{},"finish_reason":"${finish_reason}"}],"usage":{"prompt_tokens":12,"completion_tokens":${completion},"total_tokens":${12 + completion},"prompt_tokens_details":{"cached_tokens":4}}}\n\ndata: [DONE]\n\n`;

describe('a streamed completion on the wire', () => {
  it('matches example 3.1: reasoning apart, usage on the last chunk', async () => {
    upstream.reply(greeting);
    const { status, text } = await gateway.stream(ask('Hello'));
    expect(status).toBe(200);
    expect(named(text)).toBe(
      `data: {"id":"chatcmpl-7Yk","object":"chat.completion.chunk","created":1795132800,"model":"aion-labs/aion-3.5","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}

data: {"id":"chatcmpl-7Yk","object":"chat.completion.chunk","created":1795132800,"model":"aion-labs/aion-3.5","choices":[{"index":0,"delta":{"reasoning":"The user greets me."},"finish_reason":null}]}

data: {"id":"chatcmpl-7Yk","object":"chat.completion.chunk","created":1795132800,"model":"aion-labs/aion-3.5","choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":null}]}

data: {"id":"chatcmpl-7Yk","object":"chat.completion.chunk","created":1795132800,"model":"aion-labs/aion-3.5","choices":[{"index":0,"delta":{"content":" there."},"finish_reason":null}]}

data: {"id":"chatcmpl-7Yk","object":"chat.completion.chunk","created":1795132800,"model":"aion-labs/aion-3.5","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":12,"completion_tokens":9,"total_tokens":21,"prompt_tokens_details":{"cached_tokens":4}}}

data: [DONE]

`,
    );
  });

  it('matches example 3.2: usage on every chunk', async () => {
    upstream.reply(greeting);
    const { text } = await gateway.stream(ask('Hello', { stream_options: { continuous_usage_stats: true } }));
    const running = (completion: number) =>
      `,"usage":{"prompt_tokens":12,"completion_tokens":${completion},"total_tokens":${12 + completion},"prompt_tokens_details":{"cached_tokens":0}}`;
    expect(named(text)).toBe(
      middle('{"role":"assistant","content":""}', running(0)) +
        middle('{"reasoning":"The user greets me."}', running(5)) +
        middle('{"content":"Hello"}', running(6)) +
        middle('{"content":" there."}', running(8)) +
        last('stop', 9),
    );
  });

  it('matches example 3.3: reasoning in the content, between tags', async () => {
    upstream.reply(
      streamed(
        events(
          role,
          upstreamChunk({ reasoning: 'The user' }, 2),
          upstreamChunk({ reasoning: ' greets me.' }, 5),
          upstreamChunk({ content: 'Hello' }, 6),
          upstreamChunk({ content: ' there.' }, 8),
          upstreamChunk({}, 9, 'stop'),
          finalUsage,
          '[DONE]',
        ),
      ),
    );
    const { text } = await gateway.stream(ask('Hello', { reasoning_split: false }));
    expect(named(text)).toBe(
      middle('{"role":"assistant","content":""}') +
        middle('{"content":"<think>The user"}') +
        middle('{"content":" greets me."}') +
        middle('{"content":"</think>Hello"}') +
        middle('{"content":" there."}') +
        last('stop', 9),
    );
  });

  it('matches example 3.3: a tool call', async () => {
    const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'roll', arguments: '' } };
    upstream.reply(
      streamed(
        events(
          role,
          upstreamChunk({ tool_calls: [call] }, 4),
          upstreamChunk({ tool_calls: [{ index: 0, function: { arguments: '{"d":20}' } }] }, 8),
          upstreamChunk({ content: '' }, 9, 'tool_calls'),
          finalUsage,
          '[DONE]',
        ),
      ),
    );
    const { text } = await gateway.stream(
      ask('Roll', { tools: [{ type: 'function', function: { name: 'roll' } }] }),
    );
    expect(named(text)).toBe(
      middle('{"role":"assistant","content":""}') +
        middle(
          '{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"roll","arguments":""}}]}',
        ) +
        middle('{"tool_calls":[{"index":0,"function":{"arguments":"{\\"d\\":20}"}}]}') +
        last('tool_calls', 9),
    );
  });

  it('matches example 3.4: an error after the start', async () => {
    upstream.reply(socket => {
      socket.write(streamHead());
      setTimeout(() => socket.end(), 1000);
    });
    const hasty = await startGateway({ upstream, server: { stream_commit_ms: 200 } });
    const { status, text } = await hasty.stream(ask('Hello')).finally(hasty.close);
    expect(status).toBe(200);
    expect(text).toBe(`: keep-alive

data: {"error":{"message":"The upstream provider closed the stream unexpectedly.","type":"provider_error"}}

data: [DONE]

`);
  });

  it('stays the same for any network pieces the upstream sends', async () => {
    const body = events(role, upstreamChunk({ content: 'Grüße 🌊' }, 3), upstreamChunk({}, 9, 'stop'));
    const bytes = [...Buffer.from(`${body}data: [DONE]\n\n`)];
    upstream.reply(
      Buffer.concat([
        Buffer.from(streamHead()),
        ...bytes.map(byte => chunk(Buffer.of(byte))),
        Buffer.from(lastChunk),
      ]),
    );
    const { text } = await gateway.stream(ask('Hello'));
    expect(named(text)).toContain(middle('{"content":"Grüße 🌊"}'));
  });

  it('has the headers that prevent proxies from buffering it', async () => {
    upstream.reply(greeting);
    const { headers } = await gateway.stream(ask('Hello'));
    expect(headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(headers.get('cache-control')).toBe('no-cache, no-transform');
    expect(headers.get('x-accel-buffering')).toBe('no');
    expect(headers.get('content-length')).toBeNull();
    expect(headers.get('content-encoding')).toBeNull();
    expect(headers.get('x-request-id')).toMatch(/^req_./);
  });
});
