import { afterEach, describe, expect, it } from '@jest/globals';
import { countTokens } from '../../../src/simulator/tokens.ts';
import { ask, closeAll, complete, simulate } from './client.ts';

afterEach(closeAll);

describe('a completion that is not streamed', () => {
  it('is the same for the same messages, on any server, and quotes the prompt', async () => {
    const [one, two] = [await simulate(), await simulate({ seed: 5 })];
    const first = await complete(one, ask('Tell me about tall lighthouses'));
    const again = await complete(two, ask('Tell me about tall lighthouses', { temperature: 0.3 }));
    const other = await complete(one, ask('Tell me about low lighthouses'));
    expect(again.choices).toEqual(first.choices);
    expect(again.id).not.toBe(first.id);
    expect(first.id).toMatch(/^chatcmpl-[0-9a-f]{32}$/);
    expect(first.choices[0]?.message.content).toContain('Tell me about tall lighthouses');
    expect(other.choices[0]?.message.content).not.toBe(first.choices[0]?.message.content);
  });

  it('counts reasoning and answer tokens', async () => {
    const { usage, choices } = await complete(await simulate(), ask('Hello'));
    const { content, reasoning } = choices[0]?.message ?? {};
    const [answered, reasoned] = [countTokens(content ?? ''), countTokens(reasoning ?? '')];
    expect(answered).toBeGreaterThanOrEqual(24);
    expect(answered).toBeLessThanOrEqual(64);
    expect(usage).toEqual({
      prompt_tokens: countTokens('<|user|>\nHello<|end|>\n<|assistant|>\n'),
      completion_tokens: answered + reasoned,
      total_tokens: (usage?.prompt_tokens ?? 0) + answered + reasoned,
      prompt_tokens_details: null,
      completion_tokens_details: { reasoning_tokens: reasoned },
    });
  });

  it('reports cached tokens as a fraction of the prompt', async () => {
    const { usage } = await complete(await simulate({ cached_tokens: 0.5 }), ask('one two three four five'));
    expect(usage?.prompt_tokens_details).toEqual({
      cached_tokens: Math.floor((usage?.prompt_tokens ?? 0) / 2),
    });
  });

  it('takes the length and the text from directives, and does not quote them', async () => {
    const simulator = await simulate({ reasoning: 'none' });
    const long = await complete(simulator, ask('Hello world [[sim:tokens=333]]'));
    const said = await complete(simulator, ask('[[sim:say=Exactly this.]]'));
    expect(long.usage?.completion_tokens).toBe(333);
    expect(long.choices[0]?.message.content).toMatch(/^You asked about "Hello world"\./);
    expect(said.choices[0]?.message.content).toBe('Exactly this.');
  });

  it('echoes the request as it arrived, whatever max_tokens says', async () => {
    const body = ask('[[sim:echo]]', { max_tokens: 3, stop: ['a'], metadata: { ä: '☃' } });
    const { choices, usage } = await complete(await simulate(), body);
    expect(choices[0]?.message.content).toBe(JSON.stringify(body));
    expect(choices[0]?.finish_reason).toBe('stop');
    expect(usage?.completion_tokens).toBe(countTokens(JSON.stringify(body)));
  });
});

describe('a completion with max_tokens or stop', () => {
  it('shares max_tokens between reasoning and answer', async () => {
    const simulator = await simulate();
    const body = ask('Hello [[sim:reasoning_tokens=10 tokens=20]]');
    const all = await complete(simulator, { ...body, max_tokens: 30 });
    const cut = await complete(simulator, { ...body, max_tokens: 15 });
    const thinking = await complete(simulator, { ...body, max_tokens: 9999, max_completion_tokens: 4 });
    expect(all.choices[0]?.finish_reason).toBe('stop');
    expect(cut.choices[0]?.finish_reason).toBe('length');
    expect(cut.usage?.completion_tokens).toBe(15);
    expect(all.choices[0]?.message.content?.startsWith(cut.choices[0]?.message.content ?? '?')).toBe(true);
    expect(thinking.usage?.completion_tokens_details).toEqual({ reasoning_tokens: 4 });
    expect(thinking.choices[0]).toMatchObject({ finish_reason: 'length', message: { content: null } });
  });

  it('ends before the first stop string and names it', async () => {
    const simulator = await simulate({ reasoning: 'none' });
    const body = ask('[[sim:say=One, two and three]]', { stop: ['three', ' and', 'four'] });
    const { choices, usage } = await complete(simulator, body);
    expect(choices[0]).toMatchObject({
      message: { content: 'One, two' },
      finish_reason: 'stop',
      stop_reason: ' and',
    });
    expect(usage?.completion_tokens).toBe(3);
  });

  it('ends at the end of the context', async () => {
    const simulator = await simulate({ max_model_len: 100 });
    const { choices, usage } = await complete(simulator, ask('Hello [[sim:tokens=100000]]'));
    expect(choices[0]?.finish_reason).toBe('length');
    expect(usage?.total_tokens).toBe(100);
  });

  it('makes an endless answer finite', async () => {
    const body = ask('Hello [[sim:tokens=endless]]', { max_tokens: 5_000 });
    const { choices, usage } = await complete(await simulate(), body);
    expect(choices[0]?.finish_reason).toBe('length');
    expect(usage?.completion_tokens).toBe(5_000);
  });
});

describe('simulated reasoning', () => {
  it.each([
    ['reasoning_content', { reasoning_content: 'The user.', content: 'Yes' }],
    ['tags', { content: '<think>\nThe user.\n</think>\n\nYes', reasoning: null }],
    ['implicit', { content: 'The user.\n</think>\n\nYes', reasoning: null }],
    ['none', { content: 'Yes', reasoning: null }],
  ] as const)('appears as %s', async (reasoning, message) => {
    const body = ask('[[sim:reasoning_tokens=3 say=Yes]]');
    expect((await complete(await simulate({ reasoning }), body)).choices[0]?.message).toMatchObject(message);
  });

  it('grows with the effort and is off for none and for templates without thinking', async () => {
    const simulator = await simulate();
    const tokens = async (more: object): Promise<number> =>
      (await complete(simulator, ask('Hello', more))).usage?.completion_tokens_details?.reasoning_tokens ??
      -1;
    const lengths = [];
    for (const reasoning_effort of ['none', 'low', 'medium', 'high', 'max']) {
      lengths.push(await tokens({ reasoning_effort }));
    }
    expect(lengths[0]).toBe(0);
    expect(lengths).toEqual([...new Set(lengths)].sort((a, b) => a - b));
    expect(await tokens({ chat_template_kwargs: { enable_thinking: false } })).toBe(0);
  });
});

describe('simulated tool calls', () => {
  const tools = ['one', 'two'].map(name => ({
    type: 'function',
    function: { name, parameters: { type: 'object', properties: { city: { type: 'string' } } } },
  }));

  it.each([
    ['by directive', 'Lisbon [[sim:tool]]', {}, ['one']],
    ['by name in a directive', 'Lisbon [[sim:tool=two]]', {}, ['two']],
    ['when required', 'Lisbon', { tool_choice: 'required' }, ['one']],
    ['by named choice', 'Lisbon', { tool_choice: { type: 'function', function: { name: 'two' } } }, ['two']],
    ['several times', 'Lisbon [[sim:tool calls=3]]', {}, ['one', 'two', 'one']],
    [
      'once when parallel calls are off',
      'Lisbon [[sim:tool calls=3]]',
      { parallel_tool_calls: false },
      ['one'],
    ],
  ] as const)('are returned %s', async (_, content, more, names) => {
    const { choices } = await complete(await simulate(), ask(content, { tools, ...more }));
    const { message, finish_reason } = choices[0] ?? {};
    expect(finish_reason).toBe('tool_calls');
    expect(message?.content).toBeNull();
    expect(message?.tool_calls?.map(call => call.function.name)).toEqual(names);
    expect(new Set(message?.tool_calls?.map(call => call.id)).size).toBe(names.length);
    for (const call of message?.tool_calls ?? []) {
      expect(call).toMatchObject({ type: 'function', id: expect.stringMatching(/^chatcmpl-tool-/) });
      expect(JSON.parse(call.function.arguments)).toEqual({ city: 'Lisbon' });
    }
  });

  it.each([
    ['unless requested', 'Lisbon', { tools }],
    ['when the choice is none', 'Lisbon [[sim:tool]]', { tools, tool_choice: 'none' }],
    ['without tools', 'Lisbon [[sim:tool]]', {}],
  ] as const)('are omitted %s', async (_, content, more) => {
    const { choices } = await complete(await simulate(), ask(content, more));
    expect(choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: expect.any(String) } });
  });

  it('are counted and can be cut by max_tokens', async () => {
    const body = ask('Lisbon [[sim:tool reasoning=none]]', { tools });
    const simulator = await simulate();
    const whole = await complete(simulator, body);
    const cut = await complete(simulator, { ...body, max_tokens: 3 });
    const text = whole.choices[0]?.message.tool_calls?.[0]?.function.arguments ?? '';
    expect(whole.usage?.completion_tokens).toBe(countTokens(text));
    expect(cut.choices[0]).toMatchObject({ finish_reason: 'length' });
    expect(text.startsWith(cut.choices[0]?.message.tool_calls?.[0]?.function.arguments ?? '?')).toBe(true);
  });
});
