import type { ChunkChoice } from '../../exchange/canonical.ts';
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
  const head = `data: ${JSON.stringify(shared).slice(0, -1)},"choices":`;
  return {
    chunk({ choices, usage }) {
      const shown = areShownAsIs(choices, names)
        ? choices
        : choices.flatMap(choice => shownChoice(choice, names));
      // Signed reasoning is not shown here, and a chunk of nothing else would have no choices.
      if (shown.length === 0 && choices.length > 0) return '';
      const fields = usage ? `,"usage":${JSON.stringify(usage)}}\n\n` : '}\n\n';
      return head + JSON.stringify(shown) + fields;
    },
    error: error => encodeEvent(openAiErrorBody(error)),
    end: () => doneEvent,
  };
}

/** Whether choices are written as they are, which nearly all are. */
function areShownAsIs(choices: readonly ChunkChoice[], names: ReasoningNames): boolean {
  for (let at = 0; at < choices.length; at++) {
    const { delta, stop_sequence } = choices[at]!;
    if (delta.reasoning !== undefined && names !== reasoningNames.reasoning) return false;
    if (delta.reasoning_details || delta.native || stop_sequence !== undefined) return false;
  }
  return true;
}

/** The choice with its reasoning under the names of the wire, and without what this format does not have. */
function shownChoice(choice: ChunkChoice, names: ReasoningNames): object[] {
  if (areShownAsIs([choice], names)) return [choice];
  const { reasoning, reasoning_details, native, ...delta } = choice.delta;
  const { stop_sequence, ...shown } = choice;
  const said = { ...delta, ...(reasoning !== undefined && named(reasoning, names)) };
  const isEmpty = Object.keys(said).length === 0 && choice.finish_reason === null && choice.logprobs == null;
  return isEmpty ? [] : [{ ...shown, delta: said }];
}
