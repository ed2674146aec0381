import {
  type ChatRequest,
  estimateTokens,
  invalidField,
  type Model,
  max_tokens_per_character,
  textOf,
} from '../../../src/plugin.ts';

/** The model's cap on generated tokens (protocol m3). `clamp` lowers the request to it. */
export function checkMaxTokens(request: ChatRequest, model: Model, above: 'reject' | 'clamp'): void {
  const cap = model.max_completion_tokens;
  if (request.max_tokens === undefined || request.max_tokens <= cap) return;
  if (above === 'reject') {
    throw invalidField('max_tokens', `must be at most ${cap} for ${model.id}, not ${request.max_tokens}.`);
  }
  request.max_tokens = cap;
}

/** The estimate must be this clearly over before we refuse; closer calls are the upstream's (protocol m4). */
const certainty = 0.8;

/** How much is counted between two looks at the window. */
const part_characters = 65_536;

/** Refuses a prompt that is clearly longer than the model's context window. */
export function checkContext({ messages }: ChatRequest, model: Model): void {
  const texts = messages.map(({ content }) => textOf(content));
  const characters = texts.reduce((sum, { length }) => sum + length, 0);
  if (characters * max_tokens_per_character * certainty <= model.context_length) return;
  const most = model.context_length / certainty;
  const counted = countUpTo(most, texts);
  if (counted.tokens <= most) return;
  // What was not counted is taken to be like what was: a prompt may be a hundred times the window.
  const tokens = Math.round((counted.tokens / counted.characters) * characters);
  throw invalidField(
    'messages',
    `about ${tokens} tokens are more than the context window of ${model.id}, ${model.context_length} tokens.`,
  );
}

/** The tokens of texts, counted until they are more than `most`, and of how many characters that is. */
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
