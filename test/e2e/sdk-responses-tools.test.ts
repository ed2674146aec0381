import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import type {
  FunctionTool,
  Response,
  ResponseFunctionToolCall,
  ResponseInputItem,
} from 'openai/resources/responses/responses';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';

let simulator: Simulator;
const gateways: Partial<Record<string, GatewayUnderTest>> = {};

beforeAll(async () => {
  simulator = await startSimulator();
  for (const reasoning_placement of ['message', 'item'] as const)
    gateways[reasoning_placement] = await startGateway({
      upstream: simulator,
      config: { responses: { reasoning_placement } },
    });
});

afterAll(async () => {
  await Promise.all(Object.values(gateways).map(gateway => gateway?.close()));
  await simulator?.close();
});

const model = 'aion-labs/aion-3.5';
const input: ResponseInputItem[] = [{ role: 'user', content: 'Roll the dice. [[sim:tool calls=2]]' }];

const toolOf = (name: string): FunctionTool => ({
  type: 'function',
  name,
  description: `Calls ${name}.`,
  parameters: { type: 'object', properties: { sides: { type: 'integer' } }, required: ['sides'] },
  strict: false,
});
const tools = [toolOf('roll'), toolOf('toss')];

const callsIn = ({ output }: Pick<Response, 'output'>): ResponseFunctionToolCall[] =>
  output.filter(item => item.type === 'function_call');
const resultsOf = (response: Pick<Response, 'output'>): ResponseInputItem[] =>
  callsIn(response).map(({ call_id }) => ({
    type: 'function_call_output',
    call_id,
    output: 'It shows seventeen',
  }));
const namesAndArguments = (response: Pick<Response, 'output'>) =>
  callsIn(response).map(({ name, arguments: text, status }) => ({ name, text, status }));

describe.each(['message', 'item'])('function calls, with reasoning in the %s', placement => {
  let openai: OpenAI;

  beforeAll(() => {
    const gateway = gateways[placement]!;
    openai = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
  });

  it('are called, answered and used in the final text', async () => {
    const response = await openai.responses.create({ model, input, tools });
    expect(response.status).toBe('completed');
    expect(response.output.map(({ type }) => type)).toEqual([
      placement === 'item' ? 'reasoning' : 'message',
      'function_call',
      'function_call',
    ]);
    const [first, second] = callsIn(response);
    expect(first).toMatchObject({ name: 'roll', status: 'completed' });
    expect(second).toMatchObject({ name: 'toss', status: 'completed' });
    expect(first?.id).toMatch(/^fc_./);
    expect(first?.id).not.toBe(second?.id);
    expect(first?.call_id).not.toBe(second?.call_id);
    expect(JSON.parse(first?.arguments ?? '')).toEqual({ sides: expect.any(Number) });
    expect(response.tools).toEqual(tools);

    const history = [...input, ...(response.output as ResponseInputItem[]), ...resultsOf(response)];
    const next = await openai.responses.create({ model, input: history, tools });
    expect(next.output_text).toContain('It shows seventeen');
  });

  it('arrive in pieces that form the same calls', async () => {
    const whole = await openai.responses.create({ model, input, tools });
    const texts: Record<string, string> = {};
    const done: Record<string, string> = {};
    let final: Response | undefined;
    for await (const event of await openai.responses.create({ model, input, tools, stream: true })) {
      if (event.type === 'response.function_call_arguments.delta')
        texts[event.item_id] = (texts[event.item_id] ?? '') + event.delta;
      if (event.type === 'response.function_call_arguments.done') done[event.item_id] = event.arguments;
      if (event.type === 'response.completed') final = event.response;
    }
    expect(Object.values(texts)).toEqual(callsIn(whole).map(call => call.arguments));
    expect(done).toEqual(texts);
    expect(namesAndArguments(final!)).toEqual(namesAndArguments(whole));
    expect(callsIn(final!).map(({ id }) => id)).toEqual(Object.keys(texts));
  });

  it('are assembled by the stream helper and sent back', async () => {
    const final = await openai.responses.stream({ model, input, tools }).finalResponse();
    const whole = await openai.responses.create({ model, input, tools });
    expect(namesAndArguments(final as Response)).toEqual(namesAndArguments(whole));
    const output = final.output.map(({ ...item }) => {
      delete (item as { parsed_arguments?: unknown }).parsed_arguments;
      return item as ResponseInputItem;
    });
    const next = await openai.responses
      .stream({ model, input: [...input, ...output, ...resultsOf(final as Response)], tools })
      .finalResponse();
    expect(next.output_text).toContain('It shows seventeen');
  });

  it('are incomplete when the cap cuts them off, in the helper as well', async () => {
    const asked = 'Roll. [[sim:tool reasoning_tokens=10]]';
    for (const max_output_tokens of [12, 14]) {
      const whole = await openai.responses.create({ model, input: asked, tools, max_output_tokens });
      expect(whole.status).toBe('incomplete');
      expect(whole.output.at(-1)).toMatchObject({ status: 'incomplete' });
      const final = await openai.responses
        .stream({ model, input: asked, tools, max_output_tokens })
        .finalResponse();
      expect(final.status).toBe('incomplete');
      expect(namesAndArguments(final as Response)).toEqual(namesAndArguments(whole));
    }
  });

  it('follow tool_choice', async () => {
    const chosen = await openai.responses.create({
      model,
      input: 'Hello',
      tools,
      tool_choice: { type: 'function', name: 'toss' },
      parallel_tool_calls: false,
    });
    expect(callsIn(chosen).map(({ name }) => name)).toEqual(['toss']);
    expect(chosen).toMatchObject({
      tool_choice: { type: 'function', name: 'toss' },
      parallel_tool_calls: false,
    });
    const none = await openai.responses.create({ model, input, tools, tool_choice: 'none' });
    expect(callsIn(none)).toEqual([]);
  });

  it('are refused on a model that does not call tools', async () => {
    const refused = openai.responses.create({ model: 'aion-labs/aion-rp-llama-3.1-8b', input, tools });
    await expect(refused).rejects.toThrow(/400 tools: /);
    await expect(refused).rejects.toBeInstanceOf(OpenAI.BadRequestError);
  });
});
