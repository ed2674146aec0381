import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { clientKey, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import {
  events,
  type ScriptedUpstream,
  startScriptedUpstream,
  streamed,
  whole,
} from '../support/scripted-upstream.ts';

const path = '/v1/responses';
const plain = { model: 'aion-labs/aion-3.5', input: 'Hello' };
/** As agent clients ask. */
const asked = { ...plain, include: [], tools: [] };
const thought = 'The user greets me.';
let upstream: ScriptedUpstream;
let gateway: GatewayUnderTest;

beforeAll(async () => {
  upstream = await startScriptedUpstream();
  const accounts = {
    tester: { keys: [{ value: clientKey }] },
    agents: { keys: [{ value: 'sk-agents-key' }] },
  };
  const responses = { reasoning_placement_by_account: { agents: 'summary' as const } };
  gateway = await startGateway({ upstream, config: { accounts, responses } });
});

afterAll(async () => {
  await gateway?.close();
  await upstream?.close();
});

const usage = { prompt_tokens: 12, completion_tokens: 9, total_tokens: 21 };
const chunk = (delta: object, finish_reason: string | null = null) => ({
  choices: [{ index: 0, delta, finish_reason }],
});
const thinking = [chunk({ reasoning: 'The user ' }), chunk({ reasoning: 'greets me.' })];

interface Event {
  readonly type: string;
  readonly [key: string]: unknown;
}

/** The events of a stream without what stands in all of them. */
async function streamedEvents(...chunks: object[]): Promise<Event[]> {
  upstream.reply(streamed(events(...chunks, { choices: [], usage }, '[DONE]')));
  const { events: told } = await gateway.stream(asked, { path });
  return told.slice(0, -1).map(({ json }, at) => {
    const { sequence_number, ...event } = json as unknown as Event;
    expect(sequence_number).toBe(at);
    return event as Event;
  });
}

const outputIn = (event: Event | undefined) =>
  (event?.response as { output: object[] } | undefined)?.output ?? [];

describe('reasoning as a summary', () => {
  it('is the summary of its own item in a whole response', async () => {
    const message = { role: 'assistant', content: 'Hello there.', reasoning: thought };
    upstream.reply(whole(200, { choices: [{ index: 0, message, finish_reason: 'stop' }], usage }));
    const { output } = (await (await gateway.post(asked, { path })).json()) as { output: object[] };
    expect(output).toEqual([
      {
        id: expect.stringMatching(/^rs_/),
        type: 'reasoning',
        status: 'completed',
        summary: [{ type: 'summary_text', text: thought }],
        content: [],
      },
      expect.objectContaining({
        type: 'message',
        content: [{ type: 'output_text', text: 'Hello there.', annotations: [] }],
      }),
    ]);
  });

  it('is streamed with summary events and repeated in the last event', async () => {
    const told = await streamedEvents(...thinking, chunk({ content: 'Hello' }), chunk({}, 'stop'));
    const [added] = told.filter(({ type }) => type === 'response.output_item.added');
    const id = (added?.item as { id: string } | undefined)?.id;
    const item = { id, type: 'reasoning', status: 'completed', content: [] };
    const place = { item_id: id, output_index: 0, summary_index: 0 };
    const part = (text: string) => ({ ...place, part: { type: 'summary_text', text } });
    const text = 'response.reasoning_summary_text';
    expect(added?.item).toEqual({ ...item, status: 'in_progress', summary: [] });
    expect(told.slice(3, 9)).toEqual([
      { type: 'response.reasoning_summary_part.added', ...part('') },
      { type: `${text}.delta`, ...place, delta: 'The user ', delta_type: 'reasoning' },
      { type: `${text}.delta`, ...place, delta: 'greets me.', delta_type: 'reasoning' },
      { type: `${text}.done`, ...place, text: thought },
      { type: 'response.reasoning_summary_part.done', ...part(thought) },
      {
        type: 'response.output_item.done',
        output_index: 0,
        item: { ...item, summary: [{ type: 'summary_text', text: thought }] },
      },
    ]);
    expect(outputIn(told.at(-1))[0]).toEqual(told[8]?.item);
    expect(told.filter(({ type }) => /reasoning_text|content_part/.test(type))).toHaveLength(2);
  });

  it('is incomplete when the cap is reached within it', async () => {
    const told = await streamedEvents(...thinking, chunk({}, 'length'));
    expect(told.at(-1)?.type).toBe('response.incomplete');
    expect(outputIn(told.at(-1))).toMatchObject([
      { type: 'reasoning', summary: [{ text: thought }] },
      { type: 'message', status: 'incomplete', content: [{ type: 'output_text', text: '' }] },
    ]);
  });
});

describe('the place of reasoning', () => {
  const reply = { role: 'assistant', content: 'Hello there.', reasoning: thought };
  async function itemsOf(body: object, headers: Record<string, string> = {}): Promise<string[]> {
    upstream.reply(whole(200, { choices: [{ index: 0, message: reply, finish_reason: 'stop' }], usage }));
    const { output } = (await (await gateway.post(body, { path, headers })).json()) as {
      output: { type: string }[];
    };
    return output.map(({ type }) => type);
  }

  it('is the message for a plain request, unless a header or its account says otherwise', async () => {
    expect(await itemsOf(plain)).toEqual(['message']);
    expect(await itemsOf(plain, { 'x-reasoning-placement': 'item' })).toEqual(['reasoning', 'message']);
    expect(await itemsOf(plain, { authorization: 'Bearer sk-agents-key' })).toEqual(['reasoning', 'message']);
    expect(
      await itemsOf(asked, { authorization: 'Bearer sk-agents-key', 'x-reasoning-placement': 'message' }),
    ).toEqual(['message']);
  });

  it('is refused before the upstream is asked if the header names none', async () => {
    const before = upstream.requests.length;
    const refused = await gateway.post(asked, { path, headers: { 'x-reasoning-placement': 'nowhere' } });
    expect(refused.status).toBe(400);
    expect(await refused.json()).toEqual({
      error: {
        message: "x-reasoning-placement: must be one of: message, item, summary, not 'nowhere'",
        type: 'invalid_request_error',
      },
    });
    expect(upstream.requests).toHaveLength(before);
  });
});
