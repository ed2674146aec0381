import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { clientKey, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { completion, delta, expectRefusal } from '../support/hostile-setting.ts';
import {
  chunk,
  events,
  pieces,
  type ScriptedUpstream,
  startScriptedUpstream,
  streamHead,
  whole,
} from '../support/scripted-upstream.ts';
import { until } from '../support/until.ts';

const path = '/v1/responses';
const model = 'aion-labs/aion-3.5';
let upstream: ScriptedUpstream;
let gateway: GatewayUnderTest;
const agentKey = 'sk-agents-key';

beforeAll(async () => {
  upstream = await startScriptedUpstream(whole(200, completion('In order.', { reasoning: 'Hm.' })));
  const accounts = { tester: { keys: [{ value: clientKey }] }, agents: { keys: [{ value: agentKey }] } };
  const responses = { reasoning_placement_by_account: { agents: 'summary' as const } };
  gateway = await startGateway({ upstream, adapter: 'openai', config: { accounts, responses } });
});

afterAll(async () => {
  await gateway?.close();
  await upstream?.close();
});

const create = (fields: object, headers: Record<string, string> = {}, of = gateway) =>
  of.post({ model, input: 'Hello', ...fields }, { path, headers });

const messages = [{ role: 'user', content: 'Hello' }];
const parameters = { type: 'object' };
const chatTool = { type: 'function', function: { name: 'roll', parameters, strict: true } };
const tool = { type: 'function', name: 'roll', parameters, strict: true };
const chosen = { type: 'function', function: { name: 'roll' } };
const json_schema = { name: 'a', schema: parameters, strict: true };
const input = [
  { type: 'message', id: 'msg_0', role: 'user', content: 'Hello', mood: 'good' },
  { type: 'reasoning', summary: [], encrypted_content: 'gAAAAA' },
];

describe('the chat completion sent upstream for a response', () => {
  it.each<[object, object, string | null]>([
    [{}, {}, null],
    [{ max_output_tokens: 50 }, { max_tokens: 50 }, null],
    [{ temperature: 0.5, top_p: 0.9 }, { temperature: 0.5, top_p: 0.9 }, null],
    [{ reasoning: { effort: 'low' } }, { reasoning_effort: 'low' }, null],
    [{ reasoning_effort: 'low' }, { reasoning_effort: 'low' }, null],
    [
      { tools: [tool], tool_choice: { type: 'function', name: 'roll' }, parallel_tool_calls: false },
      { tools: [chatTool], tool_choice: chosen, parallel_tool_calls: false },
      null,
    ],
    [{ tools: [], tool_choice: 'auto', parallel_tool_calls: true }, {}, 'tool_choice, parallel_tool_calls'],
    [
      { text: { format: { type: 'json_schema', ...json_schema } } },
      { response_format: { type: 'json_schema', json_schema } },
      null,
    ],
    [{ metadata: { a: 'b' }, store: true, include: [], reasoning_split: true, truncation: 'auto' }, {}, null],
    [
      {
        top_k: 5,
        reasoning: { summary: 'auto' },
        text: { verbosity: 'low' },
        input,
        tools: [{ type: 'web_search' }],
      },
      {},
      'top_k, reasoning.summary, text.verbosity, input.mood, tools.web_search, input.encrypted_content',
    ],
  ])('for %j has %j, and %j is named as ignored', async (fields, expected, ignored) => {
    const reply = await create(fields);
    expect(await reply.json()).toMatchObject({ object: 'response', status: 'completed' });
    const effort = { model: 'aion-3.5', reasoning_effort: expect.any(String) };
    expect(upstream.last.body).toEqual({ ...effort, messages, ...expected });
    expect(reply.headers.get('x-ignored-parameters')).toBe(ignored);
  });

  it('has an image for a model that takes images', async () => {
    const image_url = 'data:image/png;base64,iVBORw0KGgo=';
    const content = [{ type: 'input_image', image_url, detail: 'low' }];
    const seeing = await startGateway({
      upstream,
      model: { architecture: { modality: 'text+image->text' } },
    });
    const asked = { input: [{ role: 'user', content }] };
    expect((await create(asked, {}, seeing).finally(seeing.close)).status).toBe(200);
    expect(upstream.last.body.messages).toEqual([
      { role: 'user', content: [{ type: 'image_url', image_url: { url: image_url, detail: 'low' } }] },
    ]);
    const message = await expectRefusal(await create(asked), 400, 'invalid_request_error');
    expect(message).toMatch(/^input: images are not accepted by .*, whose modality is text->text\.$/);
  });
});

describe('the field name in a refusal by a stage', () => {
  const long = 'word '.repeat(400_000);
  const plain = { model: 'aion-labs/aion-rp-llama-3.1-8b' };
  const asMessages = { input: null, messages: [{ role: 'user', content: long }] };
  it.each<[string, object, RegExp]>([
    ['the cap', { max_output_tokens: 32_769 }, /^max_output_tokens: must be at most 32768 for /],
    ['the input', { input: long }, /^input: about \d+ tokens are more than the context window/],
    ['the messages', asMessages, /^messages: about \d+ tokens are more/],
    [
      'the effort',
      { reasoning_effort: 'medium' },
      /^reasoning_effort: 'medium' is not accepted by .* low, high, max\.$/,
    ],
    ['its alias', { reasoning: { effort: 'medium' } }, /^reasoning\.effort: 'medium' is not accepted by /],
    ['metadata', { metadata: { a: 7 } }, /^metadata\.a: must be a string, not 7\.$/],
    ['tools', { ...plain, tools: [tool] }, /^tools: .* does not accept tools\.$/],
    ['the model', { model: 'nobody/knows' }, /^model: unknown model 'nobody\/knows'/],
    [
      'a hosted tool',
      { tool_choice: { type: 'web_search_preview' } },
      /^tool_choice\.type: .*hosted tools are not offered/,
    ],
  ])('is the one that the client used: %s', async (_, fields, says) => {
    for (const stream of [false, true]) {
      const reply = await create({ ...fields, stream });
      expect(await expectRefusal(reply, 400, 'invalid_request_error')).toMatch(says);
    }
  });

  it('is used for unknown fields that are refused, and for the param of OpenAI’s fields', async () => {
    const envelope = { 'error-envelope': { openai_fields: true } };
    const validation = { validation: { unknown_parameters: 'reject' as const } };
    const strict = await startGateway({ upstream, stages: [envelope, 'auth', validation] });
    const refusedFor = async (fields: object) => (await create(fields, {}, strict)).json();
    for (const [fields, param] of [
      [{ top_k: 7 }, 'top_k'],
      [{ reasoning: { summary: 'auto' } }, 'reasoning.summary'],
    ] as const)
      expect(await refusedFor(fields)).toMatchObject({
        error: { message: `${param}: unknown parameter.`, param },
      });
    expect(await refusedFor({ max_output_tokens: 40_000 })).toMatchObject({
      error: { param: 'max_output_tokens', code: 'invalid_request' },
    });
    await strict.close();
  });
});

describe('the place of reasoning in a response', () => {
  const asAgents = { authorization: `Bearer ${agentKey}` };
  it.each<[string, Record<string, string>, string]>([
    ['is the message for a plain request', {}, 'message'],
    ['is that of the header', { 'x-reasoning-placement': 'item' }, 'reasoning message'],
    ['is that of its account', asAgents, 'reasoning message'],
    [
      'is that of the header before that of its account',
      { ...asAgents, 'x-reasoning-placement': 'message' },
      'message',
    ],
  ])('%s', async (_, headers, items) => {
    const { output } = (await (await create({}, headers)).json()) as { output: { type: string }[] };
    expect(output.map(({ type }) => type).join(' ')).toBe(items);
  });

  it('is refused before the upstream is asked if the header names none', async () => {
    const before = upstream.requests.length;
    const reply = await create({}, { 'x-reasoning-placement': 'nowhere' });
    const message = "x-reasoning-placement: must be one of: message, item, summary, not 'nowhere'";
    expect([reply.status, await reply.json()]).toEqual([
      400,
      { error: { message, type: 'invalid_request_error' } },
    ]);
    expect(upstream.requests).toHaveLength(before);
  });
});

it('fails a response whose server adds to arguments of a call that were complete', async () => {
  const call = (index: number, text: string, name?: string) =>
    delta({
      tool_calls: [{ index, ...(name && { id: `call_${name}` }), function: { name, arguments: text } }],
    });
  const deltas = [call(0, '{}', 'roll'), call(1, '{', 'toss'), call(0, ' '), call(0, '{"again":1}')];
  upstream.reply(pieces([streamHead(), chunk(events(...deltas))]));
  const { events: told } = await gateway.stream({ model, input: 'Hello' }, { path });
  const [error, failed, done] = told.slice(-3);
  expect([error?.event, failed?.event, done?.data]).toEqual(['error', 'response.failed', '[DONE]']);
  expect(error?.json).toMatchObject({ code: 'provider_error' });
  expect(await upstream.last.closed).toBe('gateway');
  const settled = { endpoint: 'responses', end_reason: 'upstream_failed', error_type: 'provider_error' };
  await until(async () => (await gateway.metric('sluice_requests_total', settled)) === 1);
});
