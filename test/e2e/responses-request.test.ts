import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { clientKey, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { completion, delta } from '../support/hostile-setting.ts';
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

describe('the field name in a refusal by a stage', () => {
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
