import {
  type ChatRequest,
  estimateTokens,
  invalidField,
  type Model,
  max_tokens_per_character,
  textOf,
} from '../../../src/plugin.ts';

/** Enforces the model's cap on generated tokens. `clamp` lowers the request to it. */
export function checkMaxTokens(request: ChatRequest, model: Model, above: 'reject' | 'clamp'): void {
  const cap = model.max_completion_tokens;
  if (request.max_tokens === undefined || request.max_tokens <= cap) return;
  if (above === 'reject') {
    throw invalidField('max_tokens', `must be at most ${cap} for ${model.id}, not ${request.max_tokens}.`);
  }
  request.max_tokens = cap;
}

/** A prompt is rejected only if this share of its estimate exceeds the window; closer cases are left to the upstream. */
const certainty = 0.8;

/** Characters counted between two checks of the window. */
const part_characters = 65_536;

/** Rejects inputs of another operation than chat of which one is clearly longer than the model's context window. */
export function checkInputs(inputs: ChatRequest['messages'], model: Model): void {
  for (const input of inputs) {
    const { length = 0 } = input.tokens ?? [];
    if (length > model.context_length) throw tooLong(`${length}`, model);
    checkContext([input], model);
  }
}

/** Rejects a prompt that is clearly longer than the model's context window. */
export function checkContext(messages: ChatRequest['messages'], model: Model): void {
  let characters = 0;
  for (let at = 0; at < messages.length; at++) {
    const { content } = messages[at]!;
    characters += typeof content === 'string' ? content.length : textOf(content).length;
  }
  if (characters * max_tokens_per_character * certainty <= model.context_length) return;
  const most = model.context_length / certainty;
  const counted = countUpTo(
    most,
    messages.map(({ content }) => textOf(content)),
  );
  if (counted.tokens <= most) return;
  // The rest is extrapolated: a prompt may be a hundred times the window.
  const tokens = Math.round((counted.tokens / counted.characters) * characters);
  throw tooLong(`about ${tokens}`, model);
}

const tooLong = (tokens: string, { id, context_length }: Model) =>
  invalidField(
    'messages',
    `${tokens} tokens are more than the context window of ${id}, ${context_length} tokens.`,
  );

/** Counts the tokens of texts until there are more than `most`; also returns the characters counted. */
function countUpTo(most: number, texts: readonly string[]): { tokens: number; characters: number } {
  let tokens = 0;
  let characters = 0;
  for (const text of texts) {
    for (let at = 0; at < text.length && tokens <= most; at += part_characters) {
      const part = text.slice(at, at + part_characters);
      tokens += estimateTokens(part);
      characters += part.length;
    }
  }
  return { tokens, characters };
}
