import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
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
const question = { role: 'user', content: 'Roll.' };
const tools = [{ type: 'function', function: { name: 'roll', parameters: {} } }];

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
beforeAll(async () => {
  upstream = await startScriptedUpstream((socket, { body }) => socket.write(replyTo(body)));
  for (const adapter of ['openai', 'vllm'] as const)
    gateways.push(await startGateway({ upstream, adapter, model: { tool_calls: true } }));
});

afterAll(async () => {
  for (const gateway of gateways) await gateway.close();
  await upstream?.close();
});

/** The rest of the loop: the calls as they came, and their result. */
const answered = (tool_calls: readonly object[]) => ({
  model,
  messages: [question, { role: 'assistant', tool_calls }, { role: 'tool', tool_call_id: 'c1', content: '4' }],
  tools,
});

interface Message {
  readonly content?: string | null;
  readonly tool_calls?: readonly object[];
}
/** The message of a reply, or what its deltas say. */
async function messagesOf(gateway: GatewayUnderTest, body: object, stream: boolean): Promise<Message[]> {
  if (stream)
    return (await gateway.stream(body)).events.flatMap(({ json }) => json.choices?.[0]?.delta ?? []);
  return [
    ((await (await gateway.post(body)).json()) as { choices: [{ message: Message }] }).choices[0].message,
  ];
}

describe('the signature of a tool call', () => {
  it.each([false, true])('comes and goes back with the adapter openai (stream: %s)', async stream => {
    const gateway = gateways[0]!;
    const first = await messagesOf(gateway, { model, messages: [question], tools }, stream);
    const calls = first.flatMap(({ tool_calls = [] }) => tool_calls);
    expect(calls).toEqual([stream ? { ...call, index: 0 } : call]);
    const second = await messagesOf(gateway, answered(calls), stream);
    expect(second.map(({ content }) => content ?? '').join('')).toBe('Four.');
  });

  it('neither comes nor goes with other adapters, and is named when it is dropped', async () => {
    const gateway = gateways[1]!;
    const [first] = await messagesOf(gateway, { model, messages: [question], tools }, false);
    expect(first!.tool_calls).toEqual([{ ...call, extra_content: undefined }]);
    const reply = await gateway.post(answered([call]));
    expect(reply.status).toBe(400);
    expect(reply.headers.get('x-ignored-parameters')).toBe('messages.tool_calls.extra_content');
  });
});
