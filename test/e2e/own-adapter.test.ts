import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions';
import { contract } from '../../examples/own-adapter/fixtures.ts';
import { clientKey } from '../support/gateway-under-test.ts';
import {
  type ScriptedUpstream,
  startScriptedUpstream,
  streamed,
  whole,
} from '../support/scripted-upstream.ts';
import { endServed, type SidecarHere, serveFileHere } from '../support/sidecar-here.ts';

const folder = fileURLToPath(new URL('../../examples/own-adapter/', import.meta.url));
const model = 'google/gemini-3-flash';
const words = 'Water cuts the outer bank — slowly. 🏞️';
const both = [true, false];

const geminiKey = 'AIza-test-0123456789';
const { stream, reply } = contract.fixtures.find(({ name }) => name === 'answer')!;

/** Plays the Gemini API. */
let upstream: ScriptedUpstream;
const geminiUrl = () => `${new URL(upstream.url).origin}/v1beta`;
let gateway: SidecarHere;
let directory: string;
let openai: OpenAI;

beforeAll(async () => {
  upstream = await startScriptedUpstream((socket, { path }) =>
    socket.write(path.includes(':stream') ? streamed(stream!) : whole(200, reply as object)),
  );
  directory = await mkdtemp(join(tmpdir(), 'sluice-adapter-'));
  const text = await readFile(join(folder, 'sluice.yaml'), 'utf8');
  const ports = 'server: { port: 0, unready_ms: 0 }\nadmin: { port: 0 }\n';
  const file = join(directory, 'sluice.yaml');
  await writeFile(file, `${text.replace('./gemini.ts', join(folder, 'gemini.ts'))}\n${ports}`);
  Object.assign(process.env, { GEMINI_URL: geminiUrl(), GEMINI_API_KEY: geminiKey, DEMO_KEY: clientKey });
  gateway = await serveFileHere(file);
  openai = new OpenAI({ apiKey: clientKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
});

afterAll(async () => {
  await endServed();
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
    expect(upstream.last.path).toBe(`/v1beta/models/gemini-3-flash-preview:${method}`);
    expect(upstream.last.headers['x-goog-api-key']).toBe(geminiKey);
    expect(upstream.last.body).toEqual({
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      contents: [{ role: 'user', parts: [{ text: 'Why do rivers bend?' }] }],
      generationConfig: {
        temperature: 0.5,
        maxOutputTokens: 100,
        stopSequences: ['END'],
        thinkingConfig: { thinkingLevel: 'low', includeThoughts: true },
      },
      safetySettings: [{ category: 'HARM_CATEGORY_DANGEROUS_CONTENT', threshold: 'BLOCK_ONLY_HIGH' }],
    });
  });
});
