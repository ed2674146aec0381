import { expect } from 'expect';
import OpenAI from 'openai';
import type { ChatCompletion, ChatCompletionChunk, ChatCompletionMessage } from 'openai/resources';
import { clientKey } from '../../support/gateway-under-test.ts';
import { gateway, listOf } from '../place.ts';
import { triedOf } from '../tried.ts';

const model = 'aion-labs/aion-3.5';
const question = 'Why do rivers bend?';
const clientOf = (apiKey: string, headers = {}) =>
  new OpenAI({ apiKey, baseURL: `${gateway.url}/v1`, maxRetries: 0, defaultHeaders: headers });
const openai = clientOf(clientKey);

/** Fields of this interface, some of which the SDK's types do not know. */
interface More {
  readonly n?: number;
  readonly [field: string]: unknown;
}
type Text = { content?: string | null; reasoning?: string; role?: string };

const requestOf = (content: string, more: More = {}) => ({
  model,
  messages: [{ role: 'user' as const, content }],
  ...more,
});
const whole = (content: string, more?: More): Promise<ChatCompletion> =>
  openai.chat.completions.create(requestOf(content, more));
const answerTo = async (content: string, more?: More) =>
  (await whole(content, more)).choices[0]!.message as ChatCompletionMessage & Text;
const chunksOf = async (content: string, more?: More): Promise<ChatCompletionChunk[]> =>
  listOf(await openai.chat.completions.create({ ...requestOf(content, more), stream: true }));
const helped = (content: string, more?: More) => openai.chat.completions.stream(requestOf(content, more));

const deltasOf = (chunks: readonly ChatCompletionChunk[], index = 0): Text[] =>
  chunks.flatMap(({ choices }) => choices.filter(one => one.index === index).map(({ delta }) => delta));
const joined = (deltas: readonly Text[], key: 'content' | 'reasoning'): string =>
  deltas.map(delta => delta[key] ?? '').join('');

triedOf('models', 'openAiChat', {
  'are listed for anybody, with ids, dates, prices and efforts': async () => {
    const { data } = await clientOf('sk-unknown').models.list();
    expect(data).toHaveLength(6);
    expect(data[0]).toMatchObject({
      object: 'model',
      created: 1_790_121_600,
      pricing: { input_cache_read: '0.00000075' },
      reasoning_effort: { supported: true, levels: ['low', 'high', 'max'], default: 'high' },
    });
    expect(await listOf(openai.models.list())).toEqual(data);
    expect(await openai.models.retrieve(model)).toEqual(data[0]);
  },
  'are 404 where they are unknown': async () => {
    const unknown = openai.models.retrieve('aion-labs/none');
    await expect(unknown).rejects.toMatchObject({ status: 404, type: 'invalid_request_error' });
  },
});

triedOf('whole replies', 'openAiChat', {
  'have all fields, and usage that adds up': async () => {
    const { data, request_id, response } = await openai.chat.completions
      .create(requestOf(question))
      .withResponse();
    expect(request_id).toMatch(/^req_./);
    expect(response.headers.get('x-request-id')).toBe(request_id);
    expect(data).toMatchObject({
      id: expect.stringMatching(/^chatcmpl-./),
      object: 'chat.completion',
      model,
      choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant' } }],
    });
    expect(Math.abs(data.created - Date.now() / 1000)).toBeLessThan(120);
    const { prompt_tokens, completion_tokens, total_tokens, prompt_tokens_details } = data.usage!;
    expect(completion_tokens).toBeGreaterThan(64);
    expect(total_tokens).toBe(prompt_tokens + completion_tokens);
    expect(prompt_tokens_details?.cached_tokens).toBe(Math.floor(prompt_tokens / 2));
  },
});

triedOf(
  'reasoning_split',
  'openAiChat',
  Object.fromEntries(
    ['field', 'reasoning_content', 'tags'].map(mode => [
      `separates or joins reasoning and content whatever the upstream sends (${mode})`,
      async () => {
        const said = `Hello [[sim:reasoning=${mode} reasoning_tokens=12 say=An answer.]]`;
        const apart = await answerTo(said);
        expect(apart).toMatchObject({
          content: 'An answer.',
          reasoning: expect.stringMatching(/^The user mentions .*\w/),
        });
        expect(await answerTo(said, { reasoning_split: true })).toEqual(apart);
        const deltas = deltasOf(await chunksOf(said));
        expect(joined(deltas, 'content')).toBe(apart.content);
        expect(joined(deltas, 'reasoning')).toBe(apart.reasoning);

        const [before, after, gap] = mode === 'tags' ? ['\n', '\n', '\n\n'] : ['', '', ''];
        const together = await answerTo(said, { reasoning_split: false });
        expect(together).not.toHaveProperty('reasoning');
        expect(together.content).toBe(
          `<think>${before}${apart.reasoning}${after}</think>${gap}${apart.content}`,
        );
        const mixed = deltasOf(await chunksOf(said, { reasoning_split: false }));
        expect(joined(mixed, 'content')).toBe(together.content);
        expect(joined(mixed, 'reasoning')).toBe('');
      },
    ]),
  ),
);

triedOf('streams', 'openAiChat', {
  'of several choices are assembled to those of a whole reply, with the usage of all': async () => {
    const [one, two] = [await whole('Hello'), await whole('Hello', { n: 2 })];
    expect(two.choices.map(({ index }) => index)).toEqual([0, 1]);
    expect(two.choices[0]?.message).toEqual(one.choices[0]?.message);
    expect(two.choices[1]?.message.content).not.toBe(two.choices[0]?.message.content);
    expect(two.usage!.completion_tokens).toBeGreaterThan(one.usage!.completion_tokens);
    expect(two.usage!.prompt_tokens).toBe(one.usage!.prompt_tokens);
    const chunks = await chunksOf('Hello', { n: 2 });
    for (const { index, message } of two.choices)
      expect(joined(deltasOf(chunks, index), 'reasoning')).toBe((message as Text).reasoning);
    const { choices, usage } = await helped('Hello', { n: 2 }).finalChatCompletion();
    expect({ usage, said: choices.map(({ message }) => message.content) }).toEqual({
      usage: two.usage,
      said: two.choices.map(({ message }) => message.content),
    });
  },
  'are assembled by events and by promises': async () => {
    const stream = helped(question);
    const pieces: string[] = [];
    stream.on('content', piece => pieces.push(piece));
    const { choices, usage } = await whole(question);
    expect(await stream.finalContent()).toBe(choices[0]?.message.content);
    expect(await stream.totalUsage()).toMatchObject({ total_tokens: usage?.total_tokens });
    expect(pieces.join('')).toBe(choices[0]?.message.content);
  },
});
