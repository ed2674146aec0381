import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import type { ChatCompletion, ChatCompletionMessage } from 'openai/resources';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { clientKey } from '../support/gateway-under-test.ts';
import { type SidecarProcess, sidecarConfig, startSidecar } from '../support/sidecar-process.ts';

let simulator: Simulator;
let sidecar: SidecarProcess;
let openai: OpenAI;

beforeAll(async () => {
  simulator = await startSimulator({ cached_tokens: 0.5 });
  sidecar = await startSidecar(sidecarConfig(simulator.url));
  openai = clientOf(clientKey);
});

afterAll(async () => {
  await sidecar?.stop();
  await simulator?.close();
});

const clientOf = (apiKey: string): OpenAI =>
  new OpenAI({ apiKey, baseURL: `${sidecar.url}/v1`, maxRetries: 0 });

type Answer = ChatCompletionMessage & { reasoning?: string };

/** Fields of this interface that the SDK's types do not know. */
interface More {
  readonly reasoning_split?: boolean;
  readonly reasoning_effort?: 'none' | 'low' | 'high';
  readonly max_tokens?: number;
  readonly n?: number;
  readonly stop?: string[];
}

const complete = (content: string, more: More = {}, model = 'aion-labs/aion-3.5'): Promise<ChatCompletion> =>
  openai.chat.completions.create({ model, messages: [{ role: 'user', content }], ...more });

async function answerTo(content: string, more: More = {}): Promise<Answer> {
  const [choice] = (await complete(content, more)).choices;
  if (!choice) throw new Error('no choice');
  return choice.message;
}

describe('models.list', () => {
  it('returns the catalog with ids, dates and prices', async () => {
    const { data } = await openai.models.list();
    expect(data.map(({ id }) => id)).toEqual([
      'aion-labs/aion-3.5',
      'aion-labs/aion-3.5-mini',
      'aion-labs/aion-3.0',
      'aion-labs/aion-3.0-mini',
      'aion-labs/aion-2.0',
      'aion-labs/aion-rp-llama-3.1-8b',
    ]);
    expect(data[0]).toMatchObject({
      object: 'model',
      created: 1_790_121_600,
      pricing: { input_cache_read: '0.00000075' },
      reasoning_effort: { supported: true, levels: ['low', 'high', 'max'], default: 'high' },
    });
  });

  it('iterates over all pages, of which there is one', async () => {
    const ids: string[] = [];
    for await (const model of openai.models.list()) ids.push(model.id);
    expect(ids).toHaveLength(6);
  });

  it('ignores the key', async () => {
    expect((await clientOf('sk-unknown').models.list()).data).toHaveLength(6);
  });
});

describe('models.retrieve', () => {
  it('returns the entry of one model, and throws for an unknown one', async () => {
    const { data } = await openai.models.list();
    expect(await openai.models.retrieve('aion-labs/aion-3.5')).toEqual(data[0]);
    await expect(openai.models.retrieve('aion-labs/none')).rejects.toMatchObject({
      status: 404,
      type: 'invalid_request_error',
    });
  });
});

describe('chat.completions.create', () => {
  it('returns the answer and its reasoning apart, with usage that adds up', async () => {
    const reply = await complete('Why do rivers bend?');
    expect(reply).toMatchObject({
      id: expect.stringMatching(/^chatcmpl-./),
      object: 'chat.completion',
      model: 'aion-labs/aion-3.5',
      choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant' } }],
    });
    expect(Math.abs(reply.created - Date.now() / 1000)).toBeLessThan(120);
    const message = reply.choices[0]?.message as Answer;
    expect(message.content).toMatch(/^You asked about "Why do rivers bend"/);
    expect(message.reasoning).toMatch(/^The user mentions/);
    const { prompt_tokens, completion_tokens, total_tokens, prompt_tokens_details } = reply.usage!;
    expect(prompt_tokens).toBeGreaterThan(4);
    expect(completion_tokens).toBeGreaterThan(64);
    expect(total_tokens).toBe(prompt_tokens + completion_tokens);
    expect(prompt_tokens_details?.cached_tokens).toBe(Math.floor(prompt_tokens / 2));
  });

  it('returns the request id', async () => {
    const { request_id, response } = await openai.chat.completions
      .create({ model: 'aion-labs/aion-3.5', messages: [{ role: 'user', content: 'Hello' }] })
      .withResponse();
    expect(request_id).toMatch(/^req_./);
    expect(response.headers.get('x-request-id')).toBe(request_id);
  });

  it('accepts the key as Api-Key', async () => {
    const other = new OpenAI({
      apiKey: 'not used',
      baseURL: `${sidecar.url}/v1`,
      maxRetries: 0,
      defaultHeaders: { Authorization: `Api-Key ${clientKey}` },
    });
    const { choices } = await other.chat.completions.create({
      model: 'aion-labs/aion-3.5-mini',
      messages: [{ role: 'user', content: 'Hello' }],
    });
    expect(choices).toHaveLength(1);
  });

  it('returns as many choices as requested, with the usage of all', async () => {
    const [one, two] = await Promise.all([complete('Hello'), complete('Hello', { n: 2 })]);
    expect(two.choices.map(({ index }) => index)).toEqual([0, 1]);
    expect(two.choices[0]?.message).toEqual(one.choices[0]?.message);
    expect(two.choices[1]?.message.content).not.toBe(two.choices[0]?.message.content);
    expect(two.usage!.completion_tokens).toBeGreaterThan(one.usage!.completion_tokens);
    expect(two.usage!.prompt_tokens).toBe(one.usage!.prompt_tokens);
  });

  it('stops before a stop sequence', async () => {
    const all = (await answerTo('Hello [[sim:say=one two three four]]')).content;
    const stopped = await answerTo('Hello [[sim:say=one two three four]]', { stop: [' three'] });
    expect(all).toBe('one two three four');
    expect(stopped.content).toBe('one two');
  });

  it('returns an empty answer when the cap is reached in the reasoning', async () => {
    const { choices, usage } = await complete('Hello', { max_tokens: 5 });
    expect(choices).toMatchObject([
      { finish_reason: 'length', message: { content: '', reasoning: expect.stringMatching(/\w/) } },
    ]);
    expect(usage?.completion_tokens).toBe(5);
  });

  it('returns no reasoning at effort none', async () => {
    const reply = await complete('Hello', { reasoning_effort: 'none' }, 'aion-labs/aion-3.0');
    expect(reply.choices).toMatchObject([
      { message: { content: expect.stringMatching(/^You asked/), reasoning: '' } },
    ]);
  });
});

describe('reasoning_split', () => {
  const said = '[[sim:reasoning_tokens=12 say=An answer.]]';

  it.each(['field', 'reasoning_content', 'tags'])(
    'separates or joins reasoning and content whatever the upstream sends (%s)',
    async mode => {
      const question = `Hello ${said.replace('sim:', `sim:reasoning=${mode} `)}`;
      const apart = await answerTo(question);
      expect(await answerTo(question, { reasoning_split: true })).toEqual(apart);
      expect(apart.content).toBe('An answer.');
      expect(apart.reasoning).toMatch(/^The user mentions .*\w/);

      const together = await answerTo(question, { reasoning_split: false });
      expect(together).not.toHaveProperty('reasoning');
      const gap = mode === 'tags' ? ['\n', '\n', '\n\n'] : ['', '', ''];
      expect(together.content).toBe(
        `<think>${gap[0]}${apart.reasoning}${gap[1]}</think>${gap[2]}${apart.content}`,
      );
    },
  );
});
