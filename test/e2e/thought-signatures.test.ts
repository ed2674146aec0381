import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import type { ChatCompletionMessageParam, ChatCompletionTool } from 'openai/resources';
import { clientKey, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import {
  events,
  type ScriptedUpstream,
  startScriptedUpstream,
  streamed,
  whole,
} from '../support/scripted-upstream.ts';

/** Plays Gemini's OpenAI endpoint: a call comes with a signature, and is refused without it. */

const model = 'aion-labs/aion-3.5';
const extra_content = { google: { thought_signature: 'c2lnbmVkLWNhbGw=' } };
const call = { id: 'c1', type: 'function', function: { name: 'roll', arguments: '{}' }, extra_content };
const question: ChatCompletionMessageParam = { role: 'user', content: 'Roll.' };
const tools: ChatCompletionTool[] = [{ type: 'function', function: { name: 'roll', parameters: {} } }];

const choice = (finish_reason: string | null, more: object) => ({
  choices: [{ index: 0, finish_reason, ...more }],
});

function replyTo(body: Readonly<Record<string, unknown>>): Buffer {
  const messages = body.messages as { tool_calls?: object[] }[];
  const called = messages.flatMap(({ tool_calls = [] }) => tool_calls);
  const isSigned = JSON.stringify(called).includes('c2lnbmVkLWNhbGw=');
  if (called.length > 0 && !isSigned)
    return whole(400, { error: { message: 'Function call is missing a thought_signature.', code: 400 } });
  const said = called.length > 0 ? { content: 'Four.' } : { tool_calls: [call] };
  const end = called.length > 0 ? 'stop' : 'tool_calls';
  if (!body.stream) return whole(200, choice(end, { message: { role: 'assistant', ...said } }));
  const delta = called.length > 0 ? said : { tool_calls: [{ ...call, index: 0 }] };
  return streamed(events(choice(null, { delta }), choice(end, { delta: {} }), '[DONE]'));
}

let upstream: ScriptedUpstream;
const gateways: GatewayUnderTest[] = [];
const clientOf = ({ url }: GatewayUnderTest) =>
  new OpenAI({ apiKey: clientKey, baseURL: `${url}/v1`, maxRetries: 0 });

beforeAll(async () => {
  upstream = await startScriptedUpstream((socket, { body }) => socket.write(replyTo(body)));
  for (const adapter of ['openai', 'vllm'] as const)
    gateways.push(await startGateway({ upstream, adapter, model: { tool_calls: true } }));
});

afterAll(async () => {
  for (const gateway of gateways) await gateway.close();
  await upstream?.close();
});

/** The rest of the loop: the call as it came, and its result. */
const answered = (message: object): ChatCompletionMessageParam[] => [
  question,
  message as ChatCompletionMessageParam,
  { role: 'tool', tool_call_id: 'c1', content: '4' },
];

describe('the signature of a tool call', () => {
  it('comes with a whole reply and goes back, with the adapter openai', async () => {
    const client = clientOf(gateways[0]!);
    const first = await client.chat.completions.create({ model, messages: [question], tools });
    const { message } = first.choices[0]!;
    expect(message.tool_calls).toEqual([call]);
    const second = await client.chat.completions.create({ model, messages: answered(message), tools });
    expect(second.choices[0]?.message.content).toBe('Four.');
  });

  it('comes with a stream and goes back, with the adapter openai', async () => {
    const client = clientOf(gateways[0]!);
    const stream = await client.chat.completions.create({ model, messages: [question], tools, stream: true });
    const calls: object[] = [];
    for await (const { choices } of stream) calls.push(...(choices[0]?.delta.tool_calls ?? []));
    expect(calls).toEqual([{ ...call, index: 0 }]);
    const message = { role: 'assistant', content: null, tool_calls: calls };
    const again = await client.chat.completions.create({
      model,
      messages: answered(message),
      tools,
      stream: true,
    });
    const texts: string[] = [];
    for await (const { choices } of again) texts.push(choices[0]?.delta.content ?? '');
    expect(texts.join('')).toBe('Four.');
  });

  it('neither comes nor goes with other adapters, and is named when it is dropped', async () => {
    const gateway = gateways[1]!;
    const first = await clientOf(gateway).chat.completions.create({ model, messages: [question], tools });
    expect(first.choices[0]?.message.tool_calls).toEqual([{ ...call, extra_content: undefined }]);
    const reply = await gateway.post({
      model,
      messages: answered({ role: 'assistant', tool_calls: [call] }),
      tools,
    });
    expect(reply.status).toBe(400);
    expect(reply.headers.get('x-ignored-parameters')).toBe('messages.tool_calls.extra_content');
  });
});
