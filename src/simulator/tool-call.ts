import type { ChatRequest, ToolFunction } from './chat-request.ts';
import type { Directives } from './directives.ts';
import { topicWords } from './reply-text.ts';
import { sampleSchema } from './schema-sample.ts';
import { Dice, saltSeed } from './seed.ts';
import { type TokenRun, textRun } from './tokens.ts';

/** One function call of a reply; `run` is its arguments as JSON text. */
export interface ToolCall {
  readonly index: number;
  readonly id: string;
  readonly name: string;
  readonly run: TokenRun;
}

/**
 * Plans the calls of a reply, usually none: a tool must be offered, and be required by `tool_choice` or requested by the directive `tool`;
 * the latter in answer to a tool's result only as a `step`, or the loop would never end.
 */
export function planToolCalls(request: ChatRequest, directives: Directives, seed: number): ToolCall[] {
  const choice = request.tool_choice;
  const demanded = choice === 'required' || typeof choice === 'object';
  const isAnswer = request.messages.at(-1)?.role === 'tool' && !directives.step;
  const wished = (directives.tool !== undefined || directives.args !== undefined) && !isAnswer;
  if (request.tools.length === 0 || choice === 'none' || !(demanded || wished)) return [];
  const wanted = typeof choice === 'object' ? choice.name : directives.tool;
  const first = Math.max(
    0,
    request.tools.findIndex(tool => tool.name === wanted),
  );
  const count = request.parallel_tool_calls ? (directives.calls ?? 1) : 1;
  const words = topicWords(request, 12);
  return Array.from({ length: count }, (_, index) => {
    const tool = request.tools[(first + index) % request.tools.length] as ToolFunction;
    return planCall(tool, index, saltSeed(seed, index), words, directives.args);
  });
}

function planCall(
  tool: ToolFunction,
  index: number,
  seed: number,
  words: readonly string[],
  args: string | undefined,
): ToolCall {
  const schema = tool.parameters ?? { type: 'object' };
  const sample = () => sampleSchema(schema, words.length > 0 ? words : ['something'], new Dice(seed));
  return {
    index,
    id: `chatcmpl-tool-${[1, 2, 3, 4].map(salt => hex(saltSeed(seed, salt))).join('')}`,
    name: tool.name,
    run: textRun(args ?? JSON.stringify(sample())),
  };
}

function hex(value: number): string {
  return value.toString(16).padStart(8, '0');
}
