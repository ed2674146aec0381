import { afterEach, describe, expect, it } from '@jest/globals';
import { ask, type Chunk, closeAll, complete, joined, post, simulate, streamChunks } from './client.ts';

afterEach(closeAll);

const counted = { stream_options: { include_usage: true } };
const continuous = { stream_options: { include_usage: true, continuous_usage_stats: true } };

describe('a simulated stream', () => {
  it('matches the completion that is not streamed', async () => {
    const simulator = await simulate();
    const body = ask('Tell me about bells', { n: 2 });
    const plain = await complete(simulator, body);
    // The second time it comes from what has been kept of the first.
    for (const _ of ['first', 'again']) {
      const chunks = await streamChunks(simulator, { ...body, ...counted });
      expect([0, 1].map(index => joined(chunks, 'content', index))).toEqual(
        plain.choices.map(choice => choice.message.content),
      );
      expect([0, 1].map(index => joined(chunks, 'reasoning', index))).toEqual(
        plain.choices.map(choice => choice.message.reasoning),
      );
      expect(chunks.at(-1)?.usage).toMatchObject({ total_tokens: plain.usage?.total_tokens });
    }
  });

  it('sends the chunks of vLLM in order', async () => {
    const simulator = await simulate();
    const body = ask('[[sim:reasoning_tokens=2 say=Yes.]]');
    const chunks = await streamChunks(simulator, { ...body, ...counted });
    expect(chunks.map(chunk => chunk.choices[0]?.delta)).toEqual([
      { role: 'assistant', content: '' },
      { reasoning: 'The' },
      { reasoning: ' user' },
      { content: 'Yes' },
      { content: '.' },
      {},
      undefined,
    ]);
    expect(new Set(chunks.map(chunk => `${chunk.id} ${chunk.created} ${chunk.model}`)).size).toBe(1);
    expect(chunks[0]).toMatchObject({ object: 'chat.completion.chunk', prompt_token_ids: null });
    expect(chunks[1]?.choices[0]).toMatchObject({ logprobs: null, finish_reason: null, token_ids: null });
    expect(chunks[5]?.choices[0]).toMatchObject({ finish_reason: 'stop', stop_reason: null });
    expect(chunks[6]).toMatchObject({ choices: [], system_fingerprint: expect.any(String) });
    expect(chunks.slice(0, -1).some(chunk => chunk.usage)).toBe(false);
  });

  it('omits usage and the chunk without choices unless requested', async () => {
    const chunks = await streamChunks(
      await simulate(),
      ask('Hello', { stream_options: { continuous_usage_stats: true } }),
    );
    expect(chunks.every(chunk => chunk.choices.length === 1 && chunk.usage === undefined)).toBe(true);
    expect(chunks.at(-1)).toMatchObject({ system_fingerprint: expect.any(String) });
  });

  it('reports the length finish together with the last token', async () => {
    const chunks = await streamChunks(await simulate({ reasoning: 'none' }), ask('Hello', { max_tokens: 2 }));
    expect(chunks.at(-1)?.choices[0]).toMatchObject({
      delta: { content: expect.stringMatching(/\S/) },
      finish_reason: 'length',
    });
  });

  it('counts continuously, per choice, and sums at the end', async () => {
    const body = ask('Hello [[sim:reasoning_tokens=4 tokens=6]]', { n: 2, ...continuous });
    const chunks = await streamChunks(await simulate({ cached_tokens: 0.5 }), body);
    for (const index of [0, 1]) {
      const mine = chunks.filter(chunk => chunk.choices[0]?.index === index).map(chunk => chunk.usage);
      expect(mine.map(usage => usage?.completion_tokens)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10]);
      expect(mine.map(usage => usage?.completion_tokens_details?.reasoning_tokens).slice(3, 6)).toEqual([
        3, 4, 4,
      ]);
      for (const usage of mine) {
        expect(usage?.total_tokens).toBe((usage?.prompt_tokens ?? 0) + (usage?.completion_tokens ?? 0));
        expect(usage).not.toHaveProperty('prompt_tokens_details');
      }
    }
    expect(chunks.at(-1)).toMatchObject({
      choices: [],
      usage: { completion_tokens: 20, prompt_tokens_details: { cached_tokens: expect.any(Number) } },
    });
  });

  it.each([
    ['final', 1],
    ['none', 0],
  ] as const)('set to usage %s has %i chunks with usage', async (usage, count) => {
    const chunks = await streamChunks(await simulate({ usage }), ask('Hello', continuous));
    expect(chunks.filter(chunk => chunk.usage)).toHaveLength(count);
  });

  it('puts several tokens into a chunk when configured', async () => {
    const simulator = await simulate({ tokens_per_chunk: 4, reasoning: 'none' });
    const sizes = async (content: string): Promise<(number | undefined)[]> =>
      (await streamChunks(simulator, ask(content, continuous))).map(chunk => chunk.usage?.completion_tokens);
    expect(await sizes('Hello [[sim:tokens=10]]')).toEqual([0, 4, 8, 10, 10, 10]);
    expect(await sizes('Hello [[sim:tokens=10 chunk=7]]')).toEqual([0, 7, 10, 10, 10]);
  });

  it('omits hidden reasoning but counts it', async () => {
    const body = ask('Hello [[sim:reasoning_tokens=5 tokens=2]]', {
      include_reasoning: false,
      ...continuous,
    });
    const chunks = await streamChunks(await simulate(), body);
    expect(joined(chunks, 'reasoning')).toBe('');
    expect(chunks.map(chunk => chunk.usage?.completion_tokens)).toEqual([0, 6, 7, 7, 7]);
  });

  it('streams reasoning in tags as content', async () => {
    const body = ask('[[sim:reasoning_tokens=2 say=Yes]]');
    const chunks = await streamChunks(await simulate({ reasoning: 'tags' }), body);
    expect(chunks.map(chunk => chunk.choices[0]?.delta.content)).toEqual([
      '',
      ...['<think>', '\n', 'The', ' user', '\n', '</think>', '\n\n', 'Yes'],
      '',
    ]);
  });

  it('streams tool calls: first the name, then the arguments in pieces', async () => {
    const tools = [
      { type: 'function', function: { name: 'f', parameters: { properties: { a: { const: 12 } } } } },
    ];
    const body = ask('[[sim:tool calls=2 reasoning=none]]', { tools });
    const chunks = await streamChunks(await simulate(), body);
    const deltas = chunks.flatMap(chunk => chunk.choices[0]?.delta.tool_calls ?? []);
    for (const index of [0, 1]) {
      const [first, ...rest] = deltas.filter(delta => delta.index === index);
      expect(first).toEqual({
        index,
        id: expect.any(String),
        type: 'function',
        function: { name: 'f', arguments: '' },
      });
      expect(rest.length).toBeGreaterThan(2);
      expect(rest.map(delta => delta.function.arguments).join('')).toBe('{"a":12}');
    }
    expect(chunks.at(-1)?.choices[0]).toMatchObject({ delta: { content: '' }, finish_reason: 'tool_calls' });
  });

  it('reports another finish_reason on request', async () => {
    const chunks = await streamChunks(await simulate(), ask('[[sim:finish=abort]]'));
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe('abort');
  });

  it('reaches a slow reader in full', async () => {
    const simulator = await simulate({ reasoning: 'none' });
    const response = await post(simulator, ask('Hello [[sim:tokens=30000]]', { stream: true, ...counted }));
    await new Promise(resolve => setTimeout(resolve, 50));
    const data = (await response.text()).split('\n\n');
    expect(data.slice(-2)).toEqual(['data: [DONE]', '']);
    const last = JSON.parse(data.at(-3)?.slice(6) ?? '') as Chunk;
    expect(last.usage?.completion_tokens).toBe(30_000);
    expect(data).toHaveLength(30_000 + 5);
  });
});
