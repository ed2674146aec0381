import { afterEach, describe, expect, it } from '@jest/globals';
import { ask, type Completion, closeAll, complete, post, simulate } from './client.ts';

afterEach(closeAll);

const tools = ['read', 'bash'].map(name => ({ type: 'function', function: { name, parameters: {} } }));
const called = (field: object = {}) => ({
  role: 'assistant',
  ...field,
  tool_calls: [{ id: 'a', type: 'function', function: { name: 'bash', arguments: '{}' } }],
});
const result = { role: 'tool', tool_call_id: 'a', content: 'Some files.' };
const callOf = ({ choices }: Completion) => choices[0]?.message.tool_calls?.[0]?.function;

describe('a tool that a request names', () => {
  it('is called with the given arguments, and its result is answered with text', async () => {
    const simulator = await simulate();
    const body = ask('List it. [[sim:tool=bash args={"command":"ls -l, all"}]]', { tools }) as {
      messages: object[];
    };
    expect(callOf(await complete(simulator, body))).toEqual({
      name: 'bash',
      arguments: '{"command":"ls -l, all"}',
    });
    const next = await complete(simulator, { ...body, messages: [...body.messages, called(), result] });
    expect(next.choices[0]).toMatchObject({
      finish_reason: 'stop',
      message: { content: expect.stringContaining('Some files') },
    });
  });

  it('is the next one of the steps after each result', async () => {
    const simulator = await simulate();
    const question = {
      role: 'user',
      content: '[[sim:step tool=read]] [[sim:step tool=bash args={"n":2}]]',
    };
    const names = [];
    for (const turns of [0, 1, 2]) {
      const loop = Array.from({ length: turns }, () => [called(), result, result]).flat();
      names.push(
        callOf(await complete(simulator, { model: 'm', tools, messages: [question, ...loop] }))?.name,
      );
    }
    expect(names).toEqual(['read', 'bash', undefined]);
  });
});

describe('reasoning that must come back', () => {
  const messages = (field: object) => [
    { role: 'user', content: 'Hi [[sim:require_reasoning]]' },
    called(field),
    result,
  ];

  it.each([false, true])('is missed with 400 before anything is sent, streamed: %s', async stream => {
    const simulator = await simulate();
    const reply = await post(simulator, {
      model: 'm',
      tools,
      stream,
      messages: messages({ reasoning: 'x' }),
    });
    expect([reply.status, await reply.json()]).toMatchObject([
      400,
      { error: { message: 'The `reasoning_content` in the thinking mode must be passed back to the API.' } },
    ]);
    const there = messages({ reasoning_content: 'The user asks.' });
    expect((await post(simulator, { model: 'm', tools, stream, messages: there })).status).toBe(200);
  });

  it('may have another name, or any, and is not asked of a model that does not reason', async () => {
    const simulator = await simulate({ require_reasoning: 'any' });
    const statusOf = async (field: object) => {
      const turns = [{ role: 'user', content: 'Hi' }, called(field), result];
      return (await post(simulator, { model: 'm', tools, messages: turns })).status;
    };
    expect([await statusOf({ reasoning: 'x' }), await statusOf({})]).toEqual([200, 400]);
    simulator.configure({ require_reasoning: 'reasoning_details' });
    const details = { reasoning_details: [{ type: 'reasoning.text', text: 'x' }] };
    expect([await statusOf({ reasoning: 'x' }), await statusOf(details)]).toEqual([400, 200]);
    simulator.configure({ reasoning: 'none' });
    expect(await statusOf({})).toBe(200);
  });
});

describe('images in a prompt', () => {
  const url = `data:image/png;base64,${Buffer.from('a picture').toString('base64')}`;
  const content = [
    { type: 'text', text: 'Look [[sim:images]]' },
    { type: 'image_url', image_url: { url } },
    { type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'low' } },
  ];

  it('count as 85 tokens each, and are listed in the answer that asks for it', async () => {
    const simulator = await simulate({ reasoning: 'none' });
    const without = await complete(simulator, ask('Look [[sim:images]]'));
    const reply = await complete(simulator, { model: 'm', messages: [{ role: 'user', content }] });
    expect(reply.choices[0]?.message.content).toBe(
      JSON.stringify({ images: ['image/png 9 bytes', 'https://example.com/a.png'] }),
    );
    expect(reply.usage!.prompt_tokens - without.usage!.prompt_tokens).toBe(2 * 85);
  });

  it('are refused by a model that takes text only', async () => {
    const simulator = await simulate({ images: 'refused' });
    const reply = await post(simulator, { model: 'm', messages: [{ role: 'user', content }] });
    expect([reply.status, await reply.text()]).toEqual([
      400,
      expect.stringContaining('m is not a multimodal model'),
    ]);
  });
});
