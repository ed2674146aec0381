import { mock } from 'node:test';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import createInstructor from '@instructor-ai/instructor';
import type { AIMessageChunk } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { Agent, OpenAIProvider, Runner } from '@openai/agents';
import { generateText, isStepCount, jsonSchema, Output, streamText, tool } from 'ai';
import { expect } from 'expect';
import OpenAI from 'openai';
// Instructor is made for this version of zod.
import { z } from 'zod/v3';
import { clientKey } from '../../support/gateway-under-test.ts';
import { rolledText, rollSchema } from '../libraries/client.ts';
import { rollOverMcp } from '../libraries/mcp.ts';
import { asked, gateway, gatewayWith, simulator, truth } from '../place.ts';
import { triedOf } from '../tried.ts';

const model = 'aion-labs/aion-3.5';
const url = `${gateway.url}/v1`;
const openAiOf = (baseURL = url, maxRetries = 0) => new OpenAI({ apiKey: clientKey, baseURL, maxRetries });
const breaking = 'Hello [[sim:reset=40 reasoning_tokens=4 tokens=80]]';
const dice = 'Hello [[sim:say={"sides":7}]]';
const expectSchemaSent = () =>
  expect(asked().response_format).toMatchObject({
    type: 'json_schema',
    json_schema: { schema: rollSchema },
  });

triedOf('own ways', 'agentsChat', {
  'a broken stream has no final output and raises its error twice': async () => {
    const modelProvider = new OpenAIProvider({ openAIClient: openAiOf(), useResponses: false });
    const runner = new Runner({ tracingDisabled: true, modelProvider });
    const run = await runner.run(new Agent({ name: 'Tester', model }), breaking, { stream: true });
    const reading = async () => {
      for await (const _ of run);
    };
    await expect(reading()).rejects.toThrow(/closed the stream unexpectedly/);
    await expect(run.completed).rejects.toThrow(/closed the stream unexpectedly/);
    expect(run.error).toMatchObject({ message: expect.stringContaining('closed the stream unexpectedly') });
    expect(run.newItems).toEqual([]);
  },
});

const langChain = () =>
  new ChatOpenAI({ model, apiKey: clientKey, maxRetries: 0, configuration: { baseURL: url } });

triedOf('own ways', 'langChainChat', {
  'joined chunks double the counts in response_metadata, and keep usage_metadata exact': async () => {
    let whole: AIMessageChunk | undefined;
    for await (const chunk of await langChain().stream('Hello')) whole = whole?.concat(chunk) ?? chunk;
    const { output } = (await truth()).usage;
    expect(whole?.usage_metadata).toMatchObject({ output_tokens: output });
    expect(whole?.response_metadata.usage).toMatchObject({ completion_tokens: 2 * output! });
  },
  'its output schema is sent to the upstream': async () => {
    const structured = langChain().withStructuredOutput<{ sides: number }>({ title: 'Dice', ...rollSchema });
    expect(await structured.invoke(dice)).toEqual({ sides: 7 });
    expectSchemaSent();
  },
});

const settings = { apiKey: clientKey, baseURL: url };
const structuring = createOpenAICompatible({ name: 'sluice', supportsStructuredOutputs: true, ...settings });
const vercel = (prompt: string) => ({ model: structuring(model), prompt, maxRetries: 0 });

triedOf('own ways', 'vercelChat', {
  'a broken stream has the finish reason error and tells onError, not the text stream': async () => {
    const errors: unknown[] = [];
    const onError = ({ error }: { error: unknown }) => void errors.push(error);
    const { textStream, text, finishReason } = streamText({ ...vercel(breaking), onError });
    let pieces = '';
    for await (const piece of textStream) pieces += piece;
    expect(pieces).not.toBe('');
    expect([await text, await finishReason]).toEqual([pieces, 'error']);
    expect(errors).toEqual([expect.objectContaining({ type: 'provider_error', isRetryable: false })]);
  },
  'its output schema is sent to the upstream': async () => {
    const schema = jsonSchema<{ sides: number }>(rollSchema);
    const { output } = await generateText({ ...vercel(dice), output: Output.object({ schema }) });
    expect(output).toEqual({ sides: 7 });
    expectSchemaSent();
  },
});

const provided = (headers: Record<string, string> = {}) => ({
  model: createOpenAI({ ...settings, headers })(model),
  maxRetries: 0,
});

triedOf('own ways', 'vercelResponses', {
  'reasoning is shown by its user agent alone, and rejected in the content of a message': async () => {
    // Without `store: false` no field of the request tells that it comes from a client of OpenAI's.
    const ask = (headers?: Record<string, string>) => generateText({ ...provided(headers), prompt: 'Hello' });
    const { text, reasoningText } = await ask();
    expect([text, reasoningText]).toEqual([expect.stringMatching(/./), expect.stringMatching(/./)]);
    await expect(ask({ 'x-reasoning-placement': 'message' })).rejects.toMatchObject({
      message: 'Invalid JSON response',
      statusCode: 200,
      responseBody: expect.stringMatching(/"type":"message"[^\]]*"content":\[\{"type":"reasoning/),
    });
  },
  'an item of an earlier reply is refused with an error that asks for store: false': async () => {
    const providerOptions = { openai: { itemId: 'msg_1' } };
    const answer = generateText({
      ...provided(),
      messages: [
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: [{ type: 'text', text: 'Hi', providerOptions }] },
        { role: 'user', content: 'Go on.' },
      ],
    });
    await expect(answer).rejects.toThrow(/^input\[1\]\.type: must not be 'item_reference'.* store: false\.$/);
  },
});

/** A gateway that keeps responses, as OpenAI does by default. */
const storing = `${(await gatewayWith({ config: { responses: { store: { ttl_days: 1, keys: ['k'.repeat(32)] } } } })).url}/v1`;

triedOf('own ways', 'vercelResponses', {
  'with stored responses it calls tools and reasons by its defaults': async () => {
    const sides: number[] = [];
    const inputSchema = jsonSchema<{ sides: number }>(rollSchema);
    const roll = tool({
      inputSchema,
      execute: async given => {
        sides.push(given.sides);
        return rolledText;
      },
    });
    const asking = {
      model: createOpenAI({ ...settings, baseURL: storing })(model),
      maxRetries: 0,
      prompt: 'Roll the dice. [[sim:tool]]',
      tools: { roll },
      stopWhen: isStepCount(3),
      providerOptions: { openai: { forceReasoning: true } },
    };
    const whole = await generateText(asking);
    const streamed = streamText(asking);
    for (const text of [whole.text, await streamed.text]) expect(text).toContain('The tool returned');
    expect([sides.length, whole.steps.length]).toEqual([2, 2]);
    // What it sent of the first step are references, and the model has seen what they stand for.
    const [, call] = asked().messages as { tool_calls?: unknown[]; reasoning?: string }[];
    expect(call).toMatchObject({ tool_calls: [{ function: { name: 'roll' } }] });
  },
});

triedOf('own ways', 'agentsResponses', {
  'with stored responses it goes on from the id of the one before': async () => {
    const modelProvider = new OpenAIProvider({ openAIClient: openAiOf(storing), useResponses: true });
    const runner = new Runner({ tracingDisabled: true, modelProvider });
    const agent = new Agent({ name: 'Tester', model });
    const first = await runner.run(agent, 'My name is Ada.');
    const previousResponseId = first.lastResponseId!;
    const second = await runner.run(agent, 'What is my name?', { previousResponseId });
    expect(second.finalOutput).toEqual(expect.stringMatching(/./));
    expect(
      (asked().messages as { role: string; content: unknown }[]).map(({ role, content }) => [role, content]),
    ).toEqual([
      ['user', 'My name is Ada.'],
      ['assistant', first.finalOutput],
      ['user', 'What is my name?'],
    ]);
  },
  'with stored responses it goes on in a conversation': async () => {
    const client = openAiOf(storing);
    const modelProvider = new OpenAIProvider({ openAIClient: client, useResponses: true });
    const runner = new Runner({ tracingDisabled: true, modelProvider });
    const agent = new Agent({ name: 'Tester', model });
    const { id: conversationId } = await client.conversations.create();
    await runner.run(agent, 'My name is Ada.', { conversationId });
    await runner.run(agent, 'What is my name?', { conversationId });
    expect((asked().messages as { role: string }[]).map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'user',
    ]);
    const items = await client.conversations.items.list(conversationId);
    expect(items.data.length).toBeGreaterThanOrEqual(4);
  },
});

const modes = {
  TOOLS: '[[sim:tool]]',
  JSON_SCHEMA: '[[sim:say={"sides":7}]]',
  JSON: '[[sim:say={"sides":7}]]',
} as const;
const response_model = { schema: z.object({ sides: z.number().int() }), name: 'Roll' };
const count = expect.any(Number);
const usage = {
  prompt_tokens: count,
  completion_tokens: count,
  total_tokens: count,
  prompt_tokens_details: { cached_tokens: count },
  completion_tokens_details: { reasoning_tokens: count },
};

// Instructor prints every error as well.
mock.method(console, 'error', () => {});

function instructed(content: string, mode: keyof typeof modes = 'TOOLS', client = openAiOf()) {
  const { completions } = createInstructor({ client, mode }).chat;
  const messages = [{ role: 'user' as const, content }];
  return { completions, request: { model, messages, response_model, max_retries: 0 } };
}

for (const [mode, directive] of Object.entries(modes) as [keyof typeof modes, string][])
  triedOf('own ways', 'instructor', {
    [`an object of its schema and the usage, whole and piece by piece (${mode})`]: async () => {
      const { completions, request } = instructed(`Roll. ${directive}`, mode);
      const roll = await completions.create(request);
      expect(roll).toMatchObject({ sides: count, _meta: { usage } });
      const pieces: unknown[] = [];
      for await (const piece of await completions.create({ ...request, stream: true }))
        pieces.push({ ...piece });
      expect(pieces.length).toBeGreaterThan(1);
      expect(pieces.at(-1)).toMatchObject({ sides: count, _meta: { _isValid: true } });
    },
  });

triedOf('retries after 524', 'instructor', {
  'are not made': async () => {
    const impatient = await gatewayWith({ server: { non_stream_timeout_ms: 700 } });
    const client = openAiOf(`${impatient.url}/v1`, 1);
    const { completions, request } = instructed('Roll slowly. [[sim:ttft=1500]]', 'TOOLS', client);
    await expect(completions.create(request)).rejects.toThrow(/524/);
    expect(simulator.requests.filter(({ text }) => text.includes('Roll slowly.'))).toHaveLength(1);
  },
});

triedOf('tools', 'mcp', {
  'are those of an MCP server, which answers the calls': async () => {
    const { answer, calls } = await rollOverMcp(
      { url, key: clientKey, retries: 0 },
      'Roll. [[sim:tool calls=2]]',
    );
    expect(calls).toEqual([{ sides: count }, { sides: count }]);
    expect(answer).toContain(rolledText);
    expect(answer).toBe((await truth()).text);
    const parameters = expect.objectContaining({ $schema: expect.any(String), required: ['sides'] });
    const roll = { name: 'roll', description: 'Rolls the dice.', parameters };
    expect(asked().tools).toEqual([{ type: 'function', function: roll }]);
  },
});
