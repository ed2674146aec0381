import type { ChatRequest, PromptMessage } from '../chat-request.ts';
import type { Block, MessagesRequest, ResultBlock, Turn } from './messages-request.ts';

/** The request in the terms of chat completions. */
export function chatRequestOf(request: MessagesRequest): ChatRequest {
  const { model, system, messages, tools = [], tool_choice, thinking, output_config } = request;
  const systemText = typeof system === 'string' ? system : (system ?? []).map(part => part.text).join('');
  const thinks = thinking !== undefined && thinking.type !== 'disabled';
  return {
    model,
    messages: [...(systemText === '' ? [] : [said('system', systemText)]), ...messages.flatMap(promptOf)],
    stream: request.stream ?? false,
    include_usage: true,
    continuous_usage_stats: false,
    max_tokens: request.max_tokens,
    n: 1,
    stop: request.stop_sequences ?? [],
    tools: tools.map(({ name, input_schema }) => ({ name, parameters: input_schema })),
    tool_choice: choiceOf(tool_choice, tools.length > 0),
    parallel_tool_calls: !(
      tool_choice &&
      'disable_parallel_tool_use' in tool_choice &&
      tool_choice.disable_parallel_tool_use
    ),
    reasoning_effort: output_config?.effort ?? null,
    enable_thinking: thinks,
    include_reasoning: !(thinks && thinking.display === 'omitted'),
  };
}

function choiceOf(choice: MessagesRequest['tool_choice'], hasTools: boolean): ChatRequest['tool_choice'] {
  if (!hasTools || choice?.type === 'none') return 'none';
  if (choice?.type === 'tool') return { name: choice.name };
  return choice?.type === 'any' ? 'required' : 'auto';
}

const said = (role: string, text: string, more: Partial<PromptMessage> = {}): PromptMessage => ({
  role,
  text,
  images: [],
  calls: 0,
  reasoning: [],
  ...more,
});

/** A message; results of tools apart from each other, with the text that an agent writes behind them. */
function promptOf({ role, content }: Turn): PromptMessage[] {
  const results = content.filter(part => part.type === 'tool_result');
  const rest = content.filter(part => part.type !== 'tool_result');
  const calls = rest.filter(({ type }) => type === 'tool_use').length;
  const own = { images: imagesIn(rest), calls };
  if (results.length === 0) return [said(role, textIn(rest), own)];
  return results.map(({ content: given }, at) => {
    const parts: readonly (Block | ResultBlock)[] =
      typeof given === 'string' ? [{ type: 'text' as const, text: given }] : given;
    const all = at === results.length - 1 ? [...parts, ...rest] : parts;
    return said('tool', textIn(all), { images: imagesIn(all) });
  });
}

const textIn = (parts: readonly (Block | ResultBlock)[]): string =>
  parts
    .map(part =>
      part.type === 'text'
        ? part.text
        : part.type === 'tool_use'
          ? `${part.name}(${JSON.stringify(part.input)})`
          : '',
    )
    .join('');

const imagesIn = (parts: readonly (Block | ResultBlock)[]): string[] =>
  parts.flatMap(part => {
    if (part.type !== 'image') return [];
    const { source } = part;
    return source.type === 'url' ? source.url : `data:${source.media_type};base64,${source.data}`;
  });
