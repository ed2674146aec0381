import OpenAI from 'openai';
import type { ChatCompletionMessageParam } from 'openai/resources';
import { defaultModels } from '../../src/config/example-models.ts';
import { clientKey, type GatewayUnderTest, startGateway, upstreamKey } from './gateway-under-test.ts';
import { type ProviderName, providerNames } from './provider-fixtures.ts';

/** A gateway with a provider of each adapter, all at the same server, and a model of each, `test/NAME`. */
export function gatewayOfAllAdapters(url: string, config: object = {}): Promise<GatewayUnderTest> {
  return startGateway({
    upstream: url,
    config: {
      providers: Object.fromEntries(
        providerNames.map(name => [name, { adapter: name, base_url: url, api_key: upstreamKey }]),
      ),
      models: providerNames.map(name => modelAt(`test/${name}`, name)),
      ...config,
    },
  });
}

/** A model that reasons and sees images, at these providers, the first before the second. */
export function modelAt(id: string, ...providers: readonly string[]) {
  return {
    ...defaultModels('none')[0]!,
    id,
    architecture: { modality: 'text+image->text' },
    upstreams: providers.map((provider, at) => ({ provider, model: 'claude-sonnet-4-5', priority: at + 1 })),
  };
}

/** The field in which each server must get the reasoning of tool calls back; for the Messages API it is signed thinking. */
export const requiredReasoning: Record<ProviderName, string> = {
  openai: 'require_reasoning=reasoning_content',
  vllm: 'require_reasoning=reasoning',
  sglang: 'require_reasoning=reasoning_content',
  'llama-cpp': 'require_reasoning=reasoning_content',
  openrouter: 'require_reasoning=reasoning',
  anthropic: 'require_signatures=demanded',
};

/** A question that makes a simulated server call tools in two turns, and refuse them without their reasoning. */
export const loopQuestion = (required: string): string =>
  `Roll. [[sim:${required}]] [[sim:step tool=roll args={"sides":20}]] [[sim:step tool=roll args={"sides":6}]]`;

const parameters = {
  type: 'object',
  properties: { sides: { type: 'integer' } },
  required: ['sides'],
} as const;
const result = 'It shows seventeen';

/** How a client goes through a tool loop: the calls that it made, and its last answer. */
export type ToolLoop = (
  url: string,
  wish: { readonly model: string; readonly question: string; readonly split: boolean },
) => Promise<{ readonly sides: readonly number[]; readonly answer: string }>;

/** The SDK of OpenAI, with the assistant's message sent back as it came. */
const openai =
  (isStreamed: boolean): ToolLoop =>
  async (url, { model, question, split }) => {
    const client = new OpenAI({ apiKey: clientKey, baseURL: `${url}/v1`, maxRetries: 0 });
    const messages: ChatCompletionMessageParam[] = [{ role: 'user', content: question }];
    const tools = [{ type: 'function' as const, function: { name: 'roll', parameters } }];
    const params = { model, messages, tools, ...(!split && { reasoning_split: false }) };
    const sides: number[] = [];
    for (let step = 0; step < 5; step++) {
      const completion = isStreamed
        ? await client.chat.completions.stream(params).finalChatCompletion()
        : await client.chat.completions.create(params);
      const { message } = completion.choices[0]!;
      if (!message.tool_calls?.length) return { sides, answer: message.content ?? '' };
      messages.push(message);
      for (const call of message.tool_calls) {
        if (call.type === 'function') sides.push(JSON.parse(call.function.arguments).sides);
        messages.push({ role: 'tool', tool_call_id: call.id, content: result });
      }
    }
    throw new Error('no answer after five steps');
  };

/** Tool loops of real clients. */
export const toolLoops: Readonly<Record<string, ToolLoop>> = {
  'the openai SDK, whole': openai(false),
  'the openai SDK, streamed': openai(true),
};
