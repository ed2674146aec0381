import type { ChunkChoice } from '../../canonical.ts';
import { doneEvent, encodeEvent } from '../../sse/encode.ts';
import type { Identity, StreamRenderer } from '../define-dialect.ts';
import { openAiErrorBody } from '../openai-error.ts';

/** Names of reasoning on the wire. */
export const reasoningNames = {
  reasoning: ['reasoning'],
  reasoning_content: ['reasoning_content'],
  both: ['reasoning', 'reasoning_content'],
} as const;

export type ReasoningNames = readonly string[];

/** Fields of a reasoning text under its wire names. */
export const named = (reasoning: string, names: ReasoningNames): object =>
  Object.fromEntries(names.map(name => [name, reasoning]));

/** Writes the chunks of a stream: one id, one `created`, the requested model. */
export function chatStream({ key, created, model }: Identity, names: ReasoningNames): StreamRenderer {
  const shared = { id: `chatcmpl-${key}`, object: 'chat.completion.chunk', created, model };
  // The same in every chunk, so it is encoded once.
  const head = JSON.stringify(shared).slice(0, -1);
  return {
    chunk({ choices, usage }) {
      const shown = JSON.stringify(choices.map(choice => renamed(choice, names)));
      return encodeEvent(`${head},"choices":${shown}${usage ? `,"usage":${JSON.stringify(usage)}` : ''}}`);
    },
    error: error => encodeEvent(openAiErrorBody(error)),
    end: () => doneEvent,
  };
}

/** The choice with its reasoning under the names of the wire. */
function renamed(choice: ChunkChoice, names: ReasoningNames): object {
  const { reasoning, ...delta } = choice.delta;
  if (reasoning === undefined || names === reasoningNames.reasoning) return choice;
  return { ...choice, delta: { ...delta, ...named(reasoning, names) } };
}
