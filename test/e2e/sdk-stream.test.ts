import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import type { ChatCompletionChunk, ChatCompletionMessage } from 'openai/resources';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { clientKey } from '../support/gateway-under-test.ts';
import { type SidecarProcess, sidecarConfig, startSidecar } from '../support/sidecar-process.ts';

let simulator: Simulator;
let sidecar: SidecarProcess;
let openai: OpenAI;

beforeAll(async () => {
  simulator = await startSimulator({ cached_tokens: 0.5, tokens_per_chunk: 3 });
  sidecar = await startSidecar(sidecarConfig(simulator.url));
  openai = new OpenAI({ apiKey: clientKey, baseURL: `${sidecar.url}/v1`, maxRetries: 0 });
});

afterAll(async () => {
  await sidecar?.stop();
  await simulator?.close();
});

/** Fields of this interface that the SDK's types do not know. */
interface More {
  readonly reasoning_split?: boolean;
  readonly stream_options?: { include_usage?: boolean; continuous_usage_stats?: boolean };
  readonly max_tokens?: number;
  readonly n?: number;
}

const requestOf = (content: string, more: More = {}) => ({
  model: 'aion-labs/aion-3.5',
  messages: [{ role: 'user' as const, content }],
  ...more,
});

const openStream = (content: string, more: More = {}) =>
  openai.chat.completions.create({ ...requestOf(content, more), stream: true });

async function chunksOf(content: string, more: More = {}): Promise<ChatCompletionChunk[]> {
  const chunks: ChatCompletionChunk[] = [];
  for await (const chunk of await openStream(content, more)) chunks.push(chunk);
  return chunks;
}

/** The answer to the same request without a stream. */
async function wholeOf(content: string, more: More = {}) {
  const { choices, usage } = await openai.chat.completions.create(requestOf(content, more));
  return { messages: choices.map(({ message }) => message as Text & ChatCompletionMessage), choices, usage };
}

type Text = { content?: string | null; reasoning?: string };

const joined = (chunks: readonly ChatCompletionChunk[], key: keyof Text, index = 0): string =>
  chunks
    .flatMap(({ choices }) => choices)
    .filter(choice => choice.index === index)
    .map(({ delta }) => (delta as Text)[key] ?? '')
    .join('');

describe('a chat stream in the SDK', () => {
  it('begins with the role, sends reasoning before content, and ends with finish_reason and usage', async () => {
    const chunks = await chunksOf('Why do rivers bend?');
    const deltas = chunks.map(({ choices }) => choices[0]?.delta as Text & { role?: string });
    expect(deltas[0]).toEqual({ role: 'assistant', content: '' });
    expect(deltas.slice(1).filter(delta => 'role' in delta)).toEqual([]);

    const kinds = deltas.slice(1, -1).map(delta => Object.keys(delta).join());
    const firstContent = kinds.indexOf('content');
    expect(firstContent).toBeGreaterThan(5);
    expect(new Set(kinds.slice(0, firstContent))).toEqual(new Set(['reasoning']));
    expect(new Set(kinds.slice(firstContent))).toEqual(new Set(['content']));

    const last = chunks.at(-1);
    expect(last?.choices).toEqual([{ index: 0, delta: {}, finish_reason: 'stop' }]);
    expect(last?.usage).toEqual((await wholeOf('Why do rivers bend?')).usage);
    for (const chunk of chunks.slice(0, -1)) {
      expect(chunk).not.toHaveProperty('usage');
      expect(chunk.choices).toMatchObject([{ index: 0, finish_reason: null }]);
    }
  });

  it('adds up to what a whole reply contains', async () => {
    const chunks = await chunksOf('Why do rivers bend?');
    const { messages } = await wholeOf('Why do rivers bend?');
    expect(joined(chunks, 'content')).toBe(messages[0]?.content);
    expect(joined(chunks, 'reasoning')).toBe(messages[0]?.reasoning);
  });

  it('has one id, one date and the requested model', async () => {
    const chunks = await chunksOf('Hello');
    const [first] = chunks;
    expect(first?.id).toMatch(/^chatcmpl-./);
    for (const { id, created, model, object } of chunks) {
      expect({ id, created, model, object }).toEqual({
        id: first?.id,
        created: first?.created,
        model: 'aion-labs/aion-3.5',
        object: 'chat.completion.chunk',
      });
    }
  });

  it.each([true, false])(
    'has its only usage on the last chunk for include_usage: %s',
    async include_usage => {
      const chunks = await chunksOf('Hello', { stream_options: { include_usage } });
      expect(chunks.filter(({ usage }) => usage)).toEqual([chunks.at(-1)]);
      expect(chunks.filter(({ choices }) => choices.length !== 1)).toEqual([]);
    },
  );

  it('interleaves choices, each with its role and finish_reason, and has the usage on the very last chunk', async () => {
    const chunks = await chunksOf('Hello', { n: 2 });
    const { messages, usage } = await wholeOf('Hello', { n: 2 });
    for (const index of [0, 1]) {
      const own = chunks.flatMap(({ choices }) => choices).filter(choice => choice.index === index);
      expect(own[0]?.delta).toEqual({ role: 'assistant', content: '' });
      expect(own.filter(({ delta }) => 'role' in delta)).toHaveLength(1);
      expect(own.filter(({ finish_reason }) => finish_reason !== null)).toEqual([own.at(-1)]);
      expect(joined(chunks, 'content', index)).toBe(messages[index]?.content);
      expect(joined(chunks, 'reasoning', index)).toBe(messages[index]?.reasoning);
    }
    expect(chunks.filter(chunk => chunk.usage)).toEqual([chunks.at(-1)]);
    expect(chunks.at(-1)?.usage).toEqual(usage);
  });

  it.each(['field', 'tags'])('puts reasoning between tags with reasoning_split off (%s)', async mode => {
    const question = `Hello [[sim:reasoning=${mode} reasoning_tokens=12 say=An answer.]]`;
    const together = await chunksOf(question, { reasoning_split: false });
    expect(joined(together, 'reasoning')).toBe('');
    expect(joined(together, 'content')).toBe(
      (await wholeOf(question, { reasoning_split: false })).messages[0]?.content,
    );
    expect(joined(together, 'content')).toMatch(/^<think>\s*The user .*<\/think>\s*An answer\.$/s);

    const apart = await chunksOf(question);
    expect(joined(apart, 'reasoning')).not.toBe('');
    expect(joined(apart, 'content')).toBe('An answer.');
  });

  it('has no content when the cap is reached in the reasoning', async () => {
    const chunks = await chunksOf('Hello', { max_tokens: 5 });
    expect(joined(chunks, 'content')).toBe('');
    expect(joined(chunks, 'reasoning')).not.toBe('');
    expect(chunks.at(-1)).toMatchObject({
      choices: [{ finish_reason: 'length' }],
      usage: { completion_tokens: 5 },
    });
  });
});

describe('continuous_usage_stats', () => {
  it.each([
    ['the upstream counts', 'vllm', 1],
    ['the upstream counts each of two choices', 'vllm', 2],
    ['the upstream counts at the end only', 'final', 1],
    ['the upstream never counts', 'none', 1],
  ])('sends never-decreasing usage on every chunk when %s', async (_, usage, n) => {
    const question = `Hello [[sim:usage=${usage}]]`;
    const chunks = await chunksOf(question, { stream_options: { continuous_usage_stats: true }, n });
    const steps = chunks.map(chunk => chunk.usage!);
    expect(steps[0]).toMatchObject({ completion_tokens: 0 });
    for (const [at, step] of steps.entries()) {
      expect(step.total_tokens).toBe(step.prompt_tokens + step.completion_tokens);
      expect(step.prompt_tokens).toBeGreaterThan(0);
      expect(step.prompt_tokens_details).toEqual({ cached_tokens: expect.any(Number) });
      // The last one is the truth, even where the estimates before it were too high.
      const before = steps[at - 1];
      if (before && (usage === 'vllm' || at < steps.length - 1))
        expect(step.completion_tokens).toBeGreaterThanOrEqual(before.completion_tokens);
    }
    const distinct = new Set(steps.map(step => step.completion_tokens));
    expect(distinct.size).toBeGreaterThan(steps.length / 2);
    if (usage !== 'none') expect(steps.at(-1)).toEqual((await wholeOf(question, { n })).usage);
  });
});

describe('chat.completions.stream', () => {
  it('assembles the reply', async () => {
    const stream = openai.chat.completions.stream(requestOf('Why do rivers bend?'));
    const pieces: string[] = [];
    stream.on('content', piece => pieces.push(piece));
    const final = await stream.finalChatCompletion();
    const { messages, usage } = await wholeOf('Why do rivers bend?');
    expect(final.choices).toMatchObject([
      { index: 0, finish_reason: 'stop', message: { role: 'assistant', content: messages[0]?.content } },
    ]);
    expect(final.usage).toEqual(usage);
    expect(pieces.join('')).toBe(messages[0]?.content);
    expect(pieces.length).toBeGreaterThan(3);
    expect(await stream.finalContent()).toBe(messages[0]?.content);
    expect(await stream.totalUsage()).toMatchObject({ total_tokens: usage?.total_tokens });
  });

  it('assembles several choices', async () => {
    const final = await openai.chat.completions.stream(requestOf('Hello', { n: 2 })).finalChatCompletion();
    const { messages, usage } = await wholeOf('Hello', { n: 2 });
    expect(final.choices.map(({ message }) => message.content)).toEqual(
      messages.map(({ content }) => content),
    );
    expect(final.usage).toEqual(usage);
  });
});
