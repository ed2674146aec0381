import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import type { Response, ResponseInput, ResponseInputItem, Tool } from 'openai/resources/responses/responses';
import type { Message } from '../../src/canonical.ts';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';

let simulator: Simulator;
let gateway: GatewayUnderTest;
let openai: OpenAI;

beforeAll(async () => {
  simulator = await startSimulator();
  gateway = await startGateway({ upstream: simulator });
  openai = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
});

afterAll(async () => {
  await gateway?.close();
  await simulator?.close();
});

/** As Codex declares them: a custom tool with a grammar, a namespace, and tools that OpenAI runs. */
const tools: Tool[] = [
  {
    type: 'custom',
    name: 'apply_patch',
    description: 'Edits files.',
    format: { type: 'grammar', syntax: 'lark', definition: 'start: /.+/' },
  },
  {
    type: 'namespace',
    name: 'multi_agent_v1',
    description: 'Runs other agents.',
    tools: [{ type: 'function', name: 'spawn_agent', parameters: { type: 'object', properties: {} } }],
  },
  { type: 'web_search' },
];
const input: ResponseInput = [
  { role: 'developer', content: [{ type: 'input_text', text: 'You write code.' }] },
  {
    role: 'user',
    content: [{ type: 'input_text', text: 'Do it. [[sim:tool calls=2 require_reasoning=any]]' }],
  },
];
const asked = {
  model: 'aion-labs/aion-3.5',
  tools,
  tool_choice: 'auto' as const,
  parallel_tool_calls: true,
  store: false,
  include: ['reasoning.encrypted_content' as const],
};

/** The answer of a turn, whole or streamed. */
async function turn(items: ResponseInput, streamed: boolean): Promise<Response> {
  if (!streamed) return openai.responses.create({ ...asked, input: items });
  const stream = openai.responses.stream({ ...asked, input: items });
  return (await stream.finalResponse()) as Response;
}

describe.each([false, true])('the loop of a coding agent (stream: %s)', streamed => {
  it('calls tools by their own names, and answers them with the reasoning before', async () => {
    const { output } = await turn(input, streamed);
    expect(output).toMatchObject([
      { type: 'reasoning', summary: [{ type: 'summary_text' }], encrypted_content: expect.any(String) },
      { type: 'custom_tool_call', name: 'apply_patch', input: expect.stringMatching(/./) },
      { type: 'function_call', name: 'spawn_agent', namespace: 'multi_agent_v1' },
    ]);
    const results = output.flatMap((item): ResponseInputItem[] => {
      if (item.type === 'custom_tool_call')
        return [{ type: 'custom_tool_call_output', call_id: item.call_id, output: 'It is patched' }];
      if (item.type !== 'function_call') return [];
      return [{ type: 'function_call_output', call_id: item.call_id, output: 'It is spawned' }];
    });
    const next = await turn([...input, ...(output as ResponseInput), ...results], streamed);
    expect(next.output_text).toContain('It is spawned');

    const { messages } = simulator.requests.at(-1)!.body as { messages: Message[] };
    const custom = output.find(item => item.type === 'custom_tool_call');
    expect(messages[2]).toMatchObject({
      role: 'assistant',
      tool_calls: [
        { function: { name: 'apply_patch', arguments: JSON.stringify({ input: custom?.input }) } },
        { function: { name: 'multi_agent_v1__spawn_agent' } },
      ],
    });
  });
});

it('names the tools of a coding agent that are left out', async () => {
  const { response } = await openai.responses.create({ ...asked, input: 'Hello' }).withResponse();
  expect(response.headers.get('x-ignored-parameters')).toBe('tools.web_search');
  const forced = openai.responses.create({
    ...asked,
    input: 'Hello',
    tool_choice: { type: 'web_search_preview' },
  });
  await expect(forced).rejects.toThrow(/^400 tool_choice\.type: .*hosted tools are not offered/);
});
