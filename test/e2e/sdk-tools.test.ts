import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import type {
  ChatCompletionChunk,
  ChatCompletionMessage,
  ChatCompletionMessageParam,
  ChatCompletionTool,
} from 'openai/resources';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { clientKey } from '../support/gateway-under-test.ts';
import { type SidecarProcess, sidecarConfig, startSidecar } from '../support/sidecar-process.ts';

let simulator: Simulator;
let sidecar: SidecarProcess;
let openai: OpenAI;

beforeAll(async () => {
  simulator = await startSimulator();
  sidecar = await startSidecar(sidecarConfig(simulator.url));
  openai = new OpenAI({ apiKey: clientKey, baseURL: `${sidecar.url}/v1`, maxRetries: 0 });
});

afterAll(async () => {
  await sidecar?.stop();
  await simulator?.close();
});

const model = 'aion-labs/aion-3.5';
const asked: ChatCompletionMessageParam = { role: 'user', content: 'Roll the dice. [[sim:tool calls=2]]' };

const toolOf = (name: string): ChatCompletionTool => ({
  type: 'function',
  function: {
    name,
    description: `Calls ${name}.`,
    parameters: { type: 'object', properties: { sides: { type: 'integer' } }, required: ['sides'] },
  },
});
const tools = [toolOf('roll'), toolOf('toss')];

/** The results that a client sends back. */
const resultsOf = (message: ChatCompletionMessage): ChatCompletionMessageParam[] =>
  (message.tool_calls ?? []).map(call => ({
    role: 'tool',
    tool_call_id: call.id,
    content: 'It shows seventeen',
  }));

async function calledFor(messages: ChatCompletionMessageParam[]): Promise<ChatCompletionMessage> {
  const { choices } = await openai.chat.completions.create({ model, messages, tools });
  expect(choices).toHaveLength(1);
  expect(choices[0]?.finish_reason).toBe('tool_calls');
  return choices[0]!.message;
}

describe('tool calls', () => {
  it('are made, answered and used in the final text', async () => {
    const message = await calledFor([asked]);
    expect(message.content).toBeNull();
    expect(message.tool_calls).toEqual([
      expect.objectContaining({ type: 'function', id: expect.stringMatching(/./) }),
      expect.objectContaining({ type: 'function', id: expect.stringMatching(/./) }),
    ]);
    const [first, second] = message.tool_calls ?? [];
    expect(first?.id).not.toBe(second?.id);
    expect(first).toMatchObject({ function: { name: 'roll' } });
    expect(second).toMatchObject({ function: { name: 'toss' } });
    if (first?.type !== 'function') throw new Error('not a function call');
    expect(JSON.parse(first.function.arguments)).toEqual({ sides: expect.any(Number) });

    const { choices } = await openai.chat.completions.create({
      model,
      messages: [asked, message, ...resultsOf(message)],
      tools,
    });
    expect(choices).toMatchObject([
      { finish_reason: 'stop', message: { content: expect.stringContaining('It shows seventeen') } },
    ]);
  });

  it('arrive in pieces that form the same calls', async () => {
    const chunks: ChatCompletionChunk[] = [];
    for await (const chunk of await openai.chat.completions.create({
      model,
      messages: [asked],
      tools,
      stream: true,
    }))
      chunks.push(chunk);
    const whole = await calledFor([asked]);

    const calls: { id?: string; type?: string; name: string; text: string }[] = [];
    for (const { choices } of chunks) {
      for (const { index, id, type, function: called } of choices[0]?.delta.tool_calls ?? []) {
        const known = calls[index];
        if (known) {
          expect({ id, type, name: called?.name }).toEqual({});
          known.text += called?.arguments;
        } else {
          expect(called?.arguments).toBe('');
          calls[index] = { id: id!, type: type!, name: called?.name ?? '', text: '' };
        }
      }
    }
    expect(calls).toEqual(
      (whole.tool_calls ?? []).map(call => ({
        id: call.id,
        type: 'function',
        name: call.type === 'function' && call.function.name,
        text: call.type === 'function' && call.function.arguments,
      })),
    );
    expect(chunks.at(-1)).toMatchObject({
      choices: [{ delta: {}, finish_reason: 'tool_calls' }],
      usage: { completion_tokens: expect.any(Number) },
    });
  });

  it('are assembled by the SDK and sent back', async () => {
    const final = await openai.chat.completions
      .stream({ model, messages: [asked], tools })
      .finalChatCompletion();
    const message = final.choices[0]!.message;
    expect(final.choices[0]?.finish_reason).toBe('tool_calls');
    expect(message.tool_calls).toEqual((await calledFor([asked])).tool_calls);

    const next = await openai.chat.completions
      .stream({ model, messages: [asked, message, ...resultsOf(message)], tools })
      .finalContent();
    expect(next).toContain('It shows seventeen');
  });

  it.each([false, true])("run in the SDK's own tool loop (stream: %s)", async stream => {
    const rolled: unknown[] = [];
    const roll = {
      type: 'function' as const,
      function: {
        name: 'roll',
        description: 'Rolls the dice.',
        parameters: { type: 'object', properties: { sides: { type: 'integer' } }, required: ['sides'] },
        parse: JSON.parse,
        function: (wanted: object) => {
          rolled.push(wanted);
          return 'It shows seventeen';
        },
      },
    };
    const messages: ChatCompletionMessageParam[] = [{ role: 'user', content: 'Roll. [[sim:tool]]' }];
    const runner = stream
      ? openai.chat.completions.runTools({ model, messages, tools: [roll], stream: true })
      : openai.chat.completions.runTools({ model, messages, tools: [roll] });
    expect(await runner.finalContent()).toContain('It shows seventeen');
    expect(rolled).toEqual([{ sides: expect.any(Number) }]);
  });

  it('are refused on a model that does not call tools', async () => {
    const refused = openai.chat.completions.create({
      model: 'aion-labs/aion-rp-llama-3.1-8b',
      messages: [{ role: 'user', content: 'Roll the dice.' }],
      tools,
    });
    await expect(refused).rejects.toThrow(/400 tools: /);
    await expect(refused).rejects.toBeInstanceOf(OpenAI.BadRequestError);
  });
});
