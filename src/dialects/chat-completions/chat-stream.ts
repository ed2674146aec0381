import type { Chunk, ChunkChoice, Delta, Usage } from '../../canonical.ts';
import type { GatewayError } from '../../errors.ts';
import { doneEvent, encodeEvent } from '../../sse/encode.ts';
import type { Identity, StreamRenderer } from '../define-dialect.ts';
import { openAiErrorBody } from '../openai-error.ts';

/** What reasoning may be called on the wire (protocol d3). */
export const reasoningNames = {
  reasoning: ['reasoning'],
  reasoning_content: ['reasoning_content'],
  both: ['reasoning', 'reasoning_content'],
} as const;

export type ReasoningNames = readonly string[];

/** A reasoning text under its names on the wire. */
export const named = (reasoning: string, names: ReasoningNames): object =>
  Object.fromEntries(names.map(name => [name, reasoning]));

/** Chunks as in protocol 3.1: one id, one `created`, the model that was asked for. */
export class ChatStream implements StreamRenderer {
  /** Everything before the choices is the same in every chunk, so it is encoded once. */
  readonly #head: string;
  readonly #names: ReasoningNames;

  constructor({ key, created, model }: Identity, names: ReasoningNames) {
    this.#names = names;
    this.#head =
      `{"id":${JSON.stringify(`chatcmpl-${key}`)},"object":"chat.completion.chunk","created":${created},` +
      `"model":${JSON.stringify(model)},"choices":`;
  }

  chunk({ choices, usage }: Chunk): string {
    const encoded =
      plainText(choices, this.#names) ?? JSON.stringify(choices.map(choice => renamed(choice, this.#names)));
    return encodeEvent(`${this.#head}${encoded}${usageField(usage)}}`);
  }

  error(error: GatewayError): string {
    return encodeEvent(openAiErrorBody(error));
  }

  end(): string {
    return doneEvent;
  }
}

const usageField = (usage: Usage | undefined): string => (usage ? `,"usage":${encodedUsage(usage)}` : '');

/** Of a running stream it is on every chunk, so it is not left to JSON.stringify where nothing but numbers is in it. */
function encodedUsage(usage: Usage): string {
  const { prompt_tokens, completion_tokens, total_tokens, prompt_tokens_details } = usage;
  const { cached_tokens } = prompt_tokens_details;
  const isPlain =
    usage.completion_tokens_details === undefined &&
    Number.isFinite(prompt_tokens + completion_tokens + total_tokens + cached_tokens);
  if (!isPlain) return JSON.stringify(usage);
  return (
    `{"prompt_tokens":${prompt_tokens},"completion_tokens":${completion_tokens},"total_tokens":${total_tokens},` +
    `"prompt_tokens_details":{"cached_tokens":${cached_tokens}}}`
  );
}

/** Nearly every chunk is one more text of one choice, for which only the text has to be encoded. */
function plainText(choices: readonly ChunkChoice[], names: ReasoningNames): string | undefined {
  if (choices.length !== 1) return undefined;
  const { index, delta, finish_reason, logprobs } = choices[0]!;
  if (finish_reason !== null || logprobs !== undefined) return undefined;
  const kind = onlyKeyOf(delta);
  if (kind !== 'content' && kind !== 'reasoning') return undefined;
  const text = JSON.stringify(delta[kind]);
  const members = kind === 'content' ? `"content":${text}` : membersOf(text, names);
  return `[{"index":${index},"delta":{${members}},"finish_reason":null}]`;
}

function onlyKeyOf(delta: Delta): string | undefined {
  let only: string | undefined;
  for (const key in delta) {
    if (only !== undefined) return undefined;
    only = key;
  }
  return only;
}

const membersOf = (text: string, [first, second]: ReasoningNames): string =>
  second === undefined ? `"${first}":${text}` : `"${first}":${text},"${second}":${text}`;

/** The choice with its reasoning under the names of the wire. */
function renamed(choice: ChunkChoice, names: ReasoningNames): object {
  const { reasoning, ...delta } = choice.delta;
  if (reasoning === undefined || names === reasoningNames.reasoning) return choice;
  return { ...choice, delta: { ...delta, ...named(reasoning, names) } };
}
