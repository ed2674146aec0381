import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import type { Response, ResponseStreamEvent } from 'openai/resources/responses/responses';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { clientKey } from '../support/gateway-under-test.ts';
import { type SidecarProcess, sidecarConfig, startSidecar } from '../support/sidecar-process.ts';

let simulator: Simulator;
/** One with each placement of the reasoning. */
const sidecars: Partial<Record<string, SidecarProcess>> = {};

beforeAll(async () => {
  simulator = await startSimulator({ cached_tokens: 0.5, tokens_per_chunk: 3 });
  for (const reasoning_placement of ['message', 'item'] as const)
    sidecars[reasoning_placement] = await startSidecar(
      sidecarConfig(simulator.url, { responses: { reasoning_placement } }),
    );
});

afterAll(async () => {
  await Promise.all(Object.values(sidecars).map(sidecar => sidecar?.stop()));
  await simulator?.close();
});

const model = 'aion-labs/aion-3.5';
const question = 'Why do rivers bend?';
const clientOf = (placement: string) =>
  new OpenAI({ apiKey: clientKey, baseURL: `${sidecars[placement]?.url}/v1`, maxRetries: 0 });

/** The text of a response by its kinds, wherever it stands. */
function textsOf({ output }: Pick<Response, 'output'>) {
  const contents = output.map(item => ('content' in item ? (item.content ?? []) : []));
  const parts = contents.flat() as { type: string; text: string }[];
  const joined = (kind: RegExp) =>
    parts
      .filter(({ type }) => kind.test(type))
      .map(({ text }) => text)
      .join('');
  return { reasoning: joined(/^reasoning/), content: joined(/^output_text$/) };
}

describe.each(['message', 'item'])('the Responses API with reasoning in the %s', placement => {
  let openai: OpenAI;
  const create = (input: OpenAI.Responses.ResponseInput | string, more: object = {}) =>
    openai.responses.create({ model, input, ...more });
  const stream = (input: string, more: object = {}) =>
    openai.responses.create({ model, input, stream: true, ...more });
  async function eventsOf(input: string, more: object = {}): Promise<ResponseStreamEvent[]> {
    const events: ResponseStreamEvent[] = [];
    for await (const event of await stream(input, more)) events.push(event);
    return events;
  }

  beforeAll(() => {
    openai = clientOf(placement);
  });

  it('returns text, reasoning and usage', async () => {
    const response = await create(question);
    const chat = await openai.chat.completions.create({
      model,
      messages: [{ role: 'user', content: question }],
    });
    const message = chat.choices[0]!.message as { content: string | null; reasoning?: string };
    expect(response.output_text).toBe(message.content);
    expect(textsOf(response)).toEqual({ reasoning: message.reasoning, content: message.content });
    expect(response).toMatchObject({ object: 'response', model, status: 'completed', error: null });
    expect(response.id).toMatch(/^resp_./);
    expect(response.usage).toEqual({
      input_tokens: chat.usage?.prompt_tokens,
      output_tokens: chat.usage?.completion_tokens,
      total_tokens: chat.usage?.total_tokens,
      input_tokens_details: { cached_tokens: chat.usage?.prompt_tokens_details?.cached_tokens },
      output_tokens_details: { reasoning_tokens: expect.any(Number) },
    });
    expect(response.output.map(({ type }) => type)).toEqual(
      placement === 'item' ? ['reasoning', 'message'] : ['message'],
    );
  });

  it('ends a stream with the same response as a request without one', async () => {
    const events = await eventsOf(question);
    const last = events.at(-1);
    if (last?.type !== 'response.completed') throw new Error(`ended with ${last?.type}`);
    const whole = await create(question);
    const id = (text: string) => text.slice(text.indexOf('_') + 1);
    const same = JSON.stringify(last.response).replaceAll(id(last.response.id), 'x');
    const times = { created_at: 0, completed_at: 0, output_text: undefined };
    expect({ ...JSON.parse(same), ...times }).toEqual({
      ...JSON.parse(JSON.stringify(whole).replaceAll(id(whole.id), 'x')),
      ...times,
    });
    expect(events.map(event => event.sequence_number)).toEqual(events.map((_, at) => at));
  });

  it('is assembled by the stream helper', async () => {
    const runner = openai.responses.stream({ model, input: question });
    let text = '';
    runner.on('response.output_text.delta', ({ delta, snapshot }) => {
      text += delta;
      expect(snapshot).toBe(text);
    });
    const final = await runner.finalResponse();
    const whole = await create(question);
    expect(final.output_text).toBe(whole.output_text);
    expect(text).toBe(whole.output_text);
    expect(textsOf(final)).toEqual(textsOf(whole));
    expect(final.usage).toEqual(whole.usage);
  });

  it('returns an incomplete response when the cap is reached in the answer', async () => {
    const asked = `Hello [[sim:tokens=50 reasoning_tokens=10]]`;
    const more = { max_output_tokens: 30 };
    const whole = await create(asked, more);
    expect(whole).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      max_output_tokens: 30,
    });
    expect(whole.output.at(-1)).toMatchObject({ type: 'message', status: 'incomplete' });
    const events = await eventsOf(asked, more);
    expect(events.at(-1)?.type).toBe('response.incomplete');
    const final = await openai.responses.stream({ model, input: asked, ...more }).finalResponse();
    expect(final).toMatchObject({ status: 'incomplete', output_text: whole.output_text });
  });

  it('returns an incomplete response when the cap is reached in the reasoning', async () => {
    const more = { max_output_tokens: 5 };
    const whole = await create(question, more);
    expect(whole.status).toBe('incomplete');
    expect(whole.output_text).toBe('');
    expect(textsOf(whole).reasoning).not.toBe('');
    const events = await eventsOf(question, more);
    const done = events.filter(event => event.type === 'response.output_item.done');
    expect(done.map(({ item }) => [item.type, 'status' in item && item.status])).toEqual([
      ['reasoning', 'incomplete'],
      ['message', 'incomplete'],
    ]);
    const final = await openai.responses.stream({ model, input: question, ...more }).finalResponse();
    expect(textsOf(final)).toEqual(textsOf(whole));
  });

  it('sends usage that never decreases on every event when asked to', async () => {
    const events = (await eventsOf(question, {
      stream_options: { continuous_usage_stats: true },
    })) as (ResponseStreamEvent & { usage?: { output_tokens: number; total_tokens: number } })[];
    const told = events.map(({ usage }) => usage?.output_tokens ?? Number.NaN);
    expect(told.every(Number.isInteger)).toBe(true);
    expect(told[0]).toBe(0);
    expect(told).toEqual(told.toSorted((a, b) => a - b));
    const last = events.at(-1);
    expect(last?.usage).toEqual(last?.type === 'response.completed' && last.response.usage);
  });

  it('returns no separate reasoning with reasoning_split off', async () => {
    const asked = 'Hello [[sim:reasoning_tokens=12 say=An answer.]]';
    const whole = await create(asked, { reasoning_split: false });
    expect(textsOf(whole).reasoning).toBe('');
    expect(whole.output_text).toMatch(/^<think>\s*The user .*<\/think>\s*An answer\.$/s);
    const final = await openai.responses
      .stream({ model, input: asked, reasoning_split: false } as { model: string; input: string })
      .finalResponse();
    expect(final.output_text).toBe(whole.output_text);
  });

  it('accepts a response as history of the next request', async () => {
    const first = await create(question);
    const next = await create([
      { role: 'user', content: question },
      ...(first.output as OpenAI.Responses.ResponseInputItem[]),
      { role: 'user', content: 'And why do they meander? [[sim:say=They meander.]]' },
    ]);
    expect(next.output_text).toBe('They meander.');
  });

  it('answers the same for items, parts, messages and instructions', async () => {
    const chat = await openai.chat.completions.create({
      model,
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: question },
      ],
    });
    const text = chat.choices[0]?.message.content;
    const instructions = 'Be brief.';
    const inputs = [
      { input: question, instructions },
      { input: [{ role: 'user', content: [{ type: 'input_text', text: question }] }], instructions },
      {
        input: [
          { role: 'developer', content: instructions },
          { type: 'message', role: 'user', content: question },
        ],
      },
      { messages: [{ role: 'user', content: question }], instructions },
    ];
    for (const asked of inputs) {
      const response = await openai.responses.create({ model, ...asked } as { model: string; input: string });
      expect(response.output_text).toBe(text);
    }
  });
});
