import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ReceivedRequest, type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { ask, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';

let simulator: Simulator;
let gateway: GatewayUnderTest;

beforeAll(async () => {
  simulator = await startSimulator({ recorded_requests: 1 });
  gateway = await startGateway({ upstream: simulator });
});

afterAll(async () => {
  await gateway?.close();
  await simulator?.close();
});

/** What the upstream received of a request that was answered 200. */
async function received(body: object | string): Promise<ReceivedRequest> {
  const reply = await gateway.post(body);
  const text = await reply.text();
  if (reply.status !== 200) throw new Error(`${reply.status} ${text}`);
  const last = simulator.requests.at(-1);
  if (!last) throw new Error('nothing was received');
  return last;
}

const bodyFor = async (more: object): Promise<unknown> => (await received(ask('Hello', more))).body;

/** What every request to aion-3.5 becomes. */
const plain = {
  model: 'aion-3.5',
  messages: [{ role: 'user', content: 'Hello' }],
  reasoning_effort: 'high',
  chat_template_kwargs: { enable_thinking: true },
};
const tool = { type: 'function', function: { name: 'roll', strict: true, parameters: { type: 'object' } } };

describe('the body sent upstream', () => {
  it("contains the upstream's model name and an explicit effort", async () => {
    expect(await bodyFor({})).toEqual(plain);
  });

  it('asks a stream for its usage, whatever the client wants to see', async () => {
    const streamed = {
      ...plain,
      stream: true,
      stream_options: { include_usage: true, continuous_usage_stats: true },
    };
    expect(await bodyFor({ stream: true })).toEqual(streamed);
    expect(await bodyFor({ stream: true, stream_options: { include_usage: false } })).toEqual(streamed);
    expect(await bodyFor({ stream: true, stream_options: { continuous_usage_stats: false } })).toEqual(
      streamed,
    );
  });

  it('contains every parameter that the interface allows', async () => {
    const parameters = {
      temperature: 0,
      max_tokens: 100,
      stop: ['END'],
      n: 2,
      top_p: 0.9,
      seed: 7,
      presence_penalty: -1,
      frequency_penalty: 1.5,
      logit_bias: { '50256': -100 },
      logprobs: true,
      top_logprobs: 3,
      response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'object' } } },
      user: 'ann',
      tools: [tool],
      tool_choice: { type: 'function', function: { name: 'roll' } },
      parallel_tool_calls: false,
    };
    expect(await bodyFor(parameters)).toEqual({ ...plain, ...parameters });
  });

  it('omits fields that are null', async () => {
    const names = ['temperature', 'max_tokens', 'max_completion_tokens', 'stop', 'stream', 'stream_options'];
    const more = ['tools', 'tool_choice', 'reasoning_effort', 'reasoning_split', 'metadata', 'n', 'top_p'];
    const last = ['seed', 'logit_bias', 'logprobs', 'top_logprobs', 'response_format', 'user', 'unknown'];
    const nulls = Object.fromEntries([...names, ...more, ...last].map(name => [name, null]));
    expect(await bodyFor(nulls)).toEqual(plain);
  });

  it.each<[string, object, object]>([
    ['max_completion_tokens as max_tokens', { max_completion_tokens: 7 }, { max_tokens: 7 }],
    ['the newer of both names', { max_tokens: 5, max_completion_tokens: 7 }, { max_tokens: 7 }],
    ['a stop string as an array', { stop: 'END' }, { stop: ['END'] }],
    ['no reasoning_split', { reasoning_split: false }, {}],
    ['no metadata', { metadata: { key: 'value' } }, {}],
    ['no empty tools', { tools: [], tool_choice: 'none', parallel_tool_calls: true }, {}],
    ['no tool_choice without tools', { tool_choice: 'auto' }, {}],
    ['no parallel_tool_calls without tools', { parallel_tool_calls: true }, {}],
    [
      'a tool_choice beside tools',
      { tools: [tool], tool_choice: 'auto' },
      { tools: [tool], tool_choice: 'auto' },
    ],
  ])('contains %s', async (_, more, expected) => {
    expect(await bodyFor(more)).toEqual({ ...plain, ...expected });
  });

  it('contains the messages unchanged, except for unknown fields', async () => {
    const call = { id: 'call_1', type: 'function', function: { name: 'roll', arguments: '{"d":20}' } };
    const { body } = await received({
      model: 'aion-labs/aion-3.5',
      messages: [
        { role: 'developer', content: 'Be brief.', name: 'desk' },
        {
          role: 'user',
          content: [{ type: 'text', text: 'Roll', cache_control: { type: 'ephemeral' } }],
          id: 'msg_1',
        },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ ...call, index: 0 }],
          reasoning: 'Hm.',
          audio: null,
        },
        { role: 'tool', tool_call_id: 'call_1', content: '17', tool_calls: null },
        { role: 'assistant', content: 'Seventeen.', tool_calls: [] },
        { role: 'user', content: 'Again' },
      ],
    });
    expect((body as { messages: unknown }).messages).toEqual([
      { role: 'system', content: 'Be brief.', name: 'desk' },
      { role: 'user', content: [{ type: 'text', text: 'Roll' }] },
      { role: 'assistant', content: null, tool_calls: [call], reasoning: 'Hm.', reasoning_content: 'Hm.' },
      { role: 'tool', tool_call_id: 'call_1', content: '17' },
      { role: 'assistant', content: 'Seventeen.' },
      { role: 'user', content: 'Again' },
    ]);
  });

  it('is serialized anew, so that a duplicate key keeps its last value only', async () => {
    const text = JSON.stringify(ask('Hello')).replace('{', '{"model":"first","temperature":2,"top_k":1,');
    const last = await received(text.replace(/}$/, ',"temperature":1,"temperature":0.5}'));
    expect(last.body).toEqual({ ...plain, temperature: 0.5 });
    expect(last.text.match(/"(temperature|model)"/g)).toHaveLength(2);
    expect(last.text).not.toContain('first');
  });

  it('keeps every character, lone surrogates included', async () => {
    const content = 'Grüße 🌊 \u0000 \u2028 "\\" \ud83c end';
    expect(await bodyFor({ messages: [{ role: 'user', content }] })).toMatchObject({
      messages: [{ role: 'user', content }],
    });
  });
});
