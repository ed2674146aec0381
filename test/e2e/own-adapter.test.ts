import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import express from 'express';
import OpenAI from 'openai';
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions';
import gemini from '../../examples/own-adapter/gemini.ts';
import { createGateway } from '../../src/index.ts';
import { type ExampleProcess, startExample, stopExamples } from '../support/example-process.ts';
import { clientKey } from '../support/gateway-under-test.ts';
import { type GeminiServer, geminiKey, startGeminiServer } from '../support/gemini-server.ts';

const folder = fileURLToPath(new URL('../../examples/own-adapter/', import.meta.url));
const model = 'google/gemini-3-flash';
const words = 'Water cuts the outer bank — slowly. 🏞️';
const parameters = { type: 'object', properties: { sides: { type: 'integer' } }, required: ['sides'] };
const roll = { name: 'roll', description: 'Rolls a die.', parameters };
const tools = [{ type: 'function' as const, function: roll }];
const both = [true, false];

let upstream: GeminiServer;
let gateway: ExampleProcess;
let directory: string;
let openai: OpenAI;

beforeAll(async () => {
  upstream = await startGeminiServer();
  directory = await mkdtemp(join(tmpdir(), 'sluice-adapter-'));
  const text = await readFile(join(folder, 'sluice.yaml'), 'utf8');
  const ports = 'server: { port: 0, unready_ms: 0 }\nadmin: { port: 0 }\n';
  const file = join(directory, 'sluice.yaml');
  await writeFile(file, `${text.replace('./gemini.ts', join(folder, 'gemini.ts'))}\n${ports}`);
  gateway = await startExample(['src/cli/sidecar.ts', '--config', file], {
    GEMINI_URL: upstream.url,
    GEMINI_API_KEY: geminiKey,
    DEMO_KEY: clientKey,
  });
  openai = new OpenAI({ apiKey: clientKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
});

afterAll(async () => {
  await stopExamples();
  await upstream?.close();
  await rm(directory, { recursive: true });
});

/** One turn of a chat, streamed or whole. */
async function chat(messages: ChatCompletionMessageParam[], isStreamed: boolean, more: object = {}) {
  const body = { model, messages, ...more };
  if (!isStreamed) return openai.chat.completions.create(body);
  const stream = openai.chat.completions.stream({ ...body, stream_options: { include_usage: true } });
  return stream.finalChatCompletion();
}

const ask = (content: string): ChatCompletionMessageParam[] => [{ role: 'user', content }];

describe('an adapter of its own, named by its path', () => {
  it.each(both)('answers a chat with reasoning and exact usage, streamed: %s', async isStreamed => {
    const { choices, usage } = await chat(
      [{ role: 'system', content: 'Be brief.' }, ...ask('Why do rivers bend?')],
      isStreamed,
      { temperature: 0.5, stop: ['END'], reasoning_effort: 'low', max_completion_tokens: 100 },
    );
    expect(choices).toMatchObject([{ message: { content: words }, finish_reason: 'stop' }]);
    expect(usage).toMatchObject({
      prompt_tokens: 24,
      completion_tokens: 26,
      total_tokens: 50,
      prompt_tokens_details: { cached_tokens: 16 },
      completion_tokens_details: { reasoning_tokens: 9 },
    });
    const method = isStreamed ? 'streamGenerateContent?alt=sse' : 'generateContent';
    expect(upstream.requests.at(-1)).toEqual({
      path: `/v1beta/models/gemini-3-flash-preview:${method}`,
      body: {
        systemInstruction: { parts: [{ text: 'Be brief.' }] },
        contents: [{ role: 'user', parts: [{ text: 'Why do rivers bend?' }] }],
        generationConfig: {
          temperature: 0.5,
          maxOutputTokens: 100,
          stopSequences: ['END'],
          thinkingConfig: { thinkingLevel: 'low', includeThoughts: true },
        },
        safetySettings: [{ category: 'HARM_CATEGORY_DANGEROUS_CONTENT', threshold: 'BLOCK_ONLY_HIGH' }],
      },
    });
  });

  it.each(both)(
    'calls tools, and sends the signatures back with their results, streamed: %s',
    async isStreamed => {
      const called = await chat(ask('Roll two dice.'), isStreamed, { tools, tool_choice: 'required' });
      const { message, finish_reason } = called.choices[0]!;
      expect(finish_reason).toBe('tool_calls');
      const calls = message.tool_calls!;
      expect(calls.map(({ id }) => id)).toEqual(['fjyd5vpl', 'k2m9x7qa']);
      expect(upstream.requests.at(-1)?.body).toMatchObject({
        tools: [
          {
            functionDeclarations: [
              { name: 'roll', description: 'Rolls a die.', parametersJsonSchema: parameters },
            ],
          },
        ],
        toolConfig: { functionCallingConfig: { mode: 'ANY' } },
      });
      const history = [
        ...ask('Roll two dice.'),
        { role: 'assistant' as const, content: message.content, tool_calls: calls },
        ...calls.map(({ id }) => ({ role: 'tool' as const, tool_call_id: id, content: 'It shows 4.' })),
      ];
      const { choices } = await chat(history, isStreamed, { tools });
      expect(choices[0]!.message.content).toBe(words);
      const response = { output: 'It shows 4.' };
      expect(upstream.requests.at(-1)?.body.contents.slice(1)).toEqual([
        {
          role: 'model',
          parts: [
            {
              functionCall: { id: 'fjyd5vpl', name: 'roll', args: { sides: 20 } },
              thoughtSignature: 'c2lnbmVkLWNhbGw=',
            },
            { functionCall: { id: 'k2m9x7qa', name: 'roll', args: { sides: 6 } } },
          ],
        },
        {
          role: 'user',
          parts: [
            { functionResponse: { id: 'fjyd5vpl', name: 'roll', response } },
            { functionResponse: { id: 'k2m9x7qa', name: 'roll', response } },
          ],
        },
      ]);
    },
  );

  it.each(both)('answers responses, streamed: %s', async isStreamed => {
    const body = { model, input: 'Why do rivers bend?' };
    const { output_text, usage, status } = isStreamed
      ? await openai.responses.stream(body).finalResponse()
      : await openai.responses.create(body);
    expect({ output_text, status }).toEqual({ output_text: words, status: 'completed' });
    expect(usage).toMatchObject({ input_tokens: 24, output_tokens: 26 });
  });

  it.each(both)('shows a blocked prompt as a refusal, streamed: %s', async isStreamed => {
    const { choices } = await chat(ask('BLOCK'), isStreamed);
    expect(choices).toMatchObject([
      {
        message: { refusal: 'The prompt was blocked: PROHIBITED_CONTENT.' },
        finish_reason: 'content_filter',
      },
    ]);
  });

  it.each([
    ['WRONG', 400, 'Invalid value.'],
    ['OVERLOAD', 502, 'The upstream provider returned an error.'],
  ])('shows the error of %s', async (word, status, message) => {
    for (const isStreamed of both)
      await expect(chat(ask(word), isStreamed)).rejects.toMatchObject({ status, error: { message } });
  });

  it.each([
    ['FAULT', 'The upstream provider returned an error.'],
    ['CUT', 'The upstream provider closed the stream unexpectedly.'],
  ])('passes the text before %s on, then the error', async (word, message) => {
    let text = '';
    const read = async () => {
      const stream = await openai.chat.completions.create({ model, messages: ask(word), stream: true });
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
    };
    await expect(read()).rejects.toThrow(message);
    expect(text).toBe('Water cuts the outer bank');
  });

  it('refuses by field what the server cannot express', async () => {
    const response_format = { type: 'structural_tag' } as never;
    await expect(chat(ask('x'), false, { response_format })).rejects.toMatchObject({
      status: 400,
      error: { message: expect.stringMatching(/^response_format: must be/) },
    });
  });
});

describe('an adapter of its own, as an object', () => {
  it('serves a mounted gateway', async () => {
    const mounted = await createGateway(
      {
        providers: { google: { adapter: 'gemini', base_url: upstream.url, api_key: geminiKey } },
        models: [
          {
            id: model,
            name: 'Gemini',
            date: '2026-01-15',
            context_length: 1048576,
            max_completion_tokens: 65536,
            pricing: { prompt: '0', completion: '0' },
            reasoning: true,
            tool_calls: true,
            reasoning_effort: { supported: false, levels: [], default: null },
            upstreams: [{ provider: 'google', model: 'gemini-3-flash-preview' }],
          },
        ],
        accounts: { demo: { keys: [{ value: clientKey }] } },
      },
      { adapters: [gemini] },
    );
    const server = createServer(express().use(mounted)).listen(0, '127.0.0.1');
    try {
      await new Promise(resolve => server.once('listening', resolve));
      const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
      const client = new OpenAI({ apiKey: clientKey, baseURL, maxRetries: 0 });
      const { choices } = await client.chat.completions.create({ model, messages: ask('Why?') });
      expect(choices[0]!.message.content).toBe(words);
    } finally {
      server.close();
      await mounted.close();
    }
  });
});
