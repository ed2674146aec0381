import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { completion, expectRefusal } from '../support/hostile-setting.ts';
import { type ScriptedUpstream, startScriptedUpstream, whole } from '../support/scripted-upstream.ts';

const path = '/v1/responses';
const model = 'aion-labs/aion-3.5';
let upstream: ScriptedUpstream;
let gateway: GatewayUnderTest;
let strict: GatewayUnderTest;

beforeAll(async () => {
  upstream = await startScriptedUpstream(whole(200, completion('In order.')));
  gateway = await startGateway({ upstream, adapter: 'openai' });
  strict = await startGateway({
    upstream,
    stages: ['error-envelope', 'auth', { validation: { unknown_parameters: 'reject' } }],
  });
});

afterAll(async () => {
  await gateway?.close();
  await strict?.close();
  await upstream?.close();
});

const create = (fields: object, of = gateway) => of.post({ model, input: 'Hello', ...fields }, { path });
/** What the upstream is asked, but for what every request has. */
async function askedOf(fields: object): Promise<Record<string, unknown>> {
  const reply = await create(fields);
  expect({ status: reply.status, text: reply.ok ? '' : await reply.text() }).toEqual({
    status: 200,
    text: '',
  });
  const { model: served, reasoning_effort, ...rest } = upstream.last.body;
  expect([served, reasoning_effort]).toEqual(['aion-3.5', expect.any(String)]);
  return rest;
}

const messages = [{ role: 'user', content: 'Hello' }];
const chatTool = {
  type: 'function',
  function: { name: 'roll', parameters: { type: 'object' }, strict: true },
};
const tool = { type: 'function', name: 'roll', parameters: { type: 'object' }, strict: true };

describe('the chat completion sent upstream for a response', () => {
  it.each<[string, object, object]>([
    ['of the text', {}, {}],
    ['with the cap', { max_output_tokens: 50 }, { max_tokens: 50 }],
    ['with what is sampled', { temperature: 0.5, top_p: 0.9 }, { temperature: 0.5, top_p: 0.9 }],
    [
      'with tools and their choice',
      { tools: [tool], tool_choice: { type: 'function', name: 'roll' }, parallel_tool_calls: false },
      {
        tools: [chatTool],
        tool_choice: { type: 'function', function: { name: 'roll' } },
        parallel_tool_calls: false,
      },
    ],
    ['without a choice among no tools', { tools: [], tool_choice: 'auto', parallel_tool_calls: true }, {}],
    [
      'with the format',
      { text: { format: { type: 'json_schema', name: 'a', schema: { type: 'object' }, strict: true } } },
      {
        response_format: {
          type: 'json_schema',
          json_schema: { name: 'a', schema: { type: 'object' }, strict: true },
        },
      },
    ],
    [
      'without what is only ours',
      { metadata: { a: 'b' }, store: true, include: [], reasoning_split: true },
      {},
    ],
  ])('is built %s', async (_, fields, expected) => {
    expect(await askedOf(fields)).toEqual({ messages, ...expected });
  });

  it('has the requested effort, under either name', async () => {
    for (const fields of [{ reasoning: { effort: 'low' } }, { reasoning_effort: 'low' }]) {
      const reply = await create(fields);
      expect(await reply.json()).toMatchObject({ reasoning: { effort: 'low', summary: null } });
      expect(upstream.last.body.reasoning_effort).toBe('low');
    }
  });
});

describe('an image in a response request', () => {
  const image_url = 'data:image/png;base64,iVBORw0KGgo=';
  const text = { type: 'input_text', text: 'What is this?' };
  const input = [{ role: 'user', content: [text, { type: 'input_image', image_url, detail: 'low' }] }];

  it('reaches a model that takes images', async () => {
    const architecture = { modality: 'text+image->text' };
    const seeing = await startGateway({ upstream, adapter: 'openai', model: { architecture } });
    const reply = await create({ input }, seeing).finally(seeing.close);
    expect(reply.status).toBe(200);
    expect(upstream.last.body.messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image_url', image_url: { url: image_url, detail: 'low' } },
        ],
      },
    ]);
  });

  it('is refused for a model that takes none, in the words of the client', async () => {
    const message = await expectRefusal(await create({ input }), 400, 'invalid_request_error');
    expect(message).toMatch(/^input: images are not accepted by .*, whose modality is text->text\.$/);
  });
});

describe('unknown fields of a response request', () => {
  it('are not forwarded and are listed in the reply', async () => {
    const reply = await create({
      top_k: 5,
      reasoning: { summary: 'auto' },
      text: { verbosity: 'low' },
      input: [
        { type: 'message', id: 'msg_0', role: 'user', content: 'Hello', mood: 'good' },
        { type: 'reasoning', summary: [], encrypted_content: 'gAAAAA' },
      ],
      tools: [{ type: 'web_search' }],
      tool_choice: 'auto',
    });
    expect(reply.headers.get('x-ignored-parameters')).toBe(
      'tool_choice, top_k, reasoning.summary, text.verbosity, input.mood, tools.web_search, input.encrypted_content',
    );
    expect(Object.keys(upstream.last.body).sort()).toEqual(['messages', 'model', 'reasoning_effort']);
    expect(
      (await create({ truncation: 'auto', store: false })).headers.get('x-ignored-parameters'),
    ).toBeNull();
  });

  it('are refused by their own names when configured so', async () => {
    for (const [fields, name] of [
      [{ top_k: 7 }, 'top_k'],
      [{ reasoning: { summary: 'auto' } }, 'reasoning.summary'],
    ] as const)
      await expectRefusal(
        await create(fields, strict),
        400,
        'invalid_request_error',
        `${name}: unknown parameter.`,
      );
  });
});

describe('the field name in a refusal by a stage', () => {
  const long = 'word '.repeat(400_000);
  const plain = { model: 'aion-labs/aion-rp-llama-3.1-8b' };
  it.each<[string, object, RegExp]>([
    ['the cap', { max_output_tokens: 32_769 }, /^max_output_tokens: must be at most 32768 for /],
    ['the input', { input: long }, /^input: about \d+ tokens are more than the context window/],
    [
      'the messages',
      { input: null, messages: [{ role: 'user', content: long }] },
      /^messages: about \d+ tokens are more/,
    ],
    [
      'the effort',
      { reasoning_effort: 'medium' },
      /^reasoning_effort: 'medium' is not accepted by .* low, high, max\.$/,
    ],
    ['its alias', { reasoning: { effort: 'medium' } }, /^reasoning\.effort: 'medium' is not accepted by /],
    ['metadata', { metadata: { a: 7 } }, /^metadata\.a: must be a string, not 7\.$/],
    ['tools', { ...plain, tools: [tool] }, /^tools: .* does not accept tools\.$/],
    ['the model', { model: 'nobody/knows' }, /^model: unknown model 'nobody\/knows'/],
  ])('is the one that the client used: %s', async (_, fields, says) => {
    for (const stream of [false, true]) {
      const message = await expectRefusal(await create({ ...fields, stream }), 400, 'invalid_request_error');
      expect(message).toMatch(says);
    }
  });

  it('is used for the param of OpenAI’s fields as well', async () => {
    const wordy = await startGateway({
      upstream,
      stages: [{ 'error-envelope': { openai_fields: true } }, 'auth', 'validation'],
    });
    const reply = await create({ max_output_tokens: 40_000 }, wordy).finally(wordy.close);
    expect(await reply.json()).toMatchObject({
      error: { param: 'max_output_tokens', code: 'invalid_request' },
    });
  });
});
