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

/** Refuses a prompt that is clearly longer than the model's context window. */
export function checkContext({ messages }: ChatRequest, model: Model): void {
  let characters = 0;
  for (const { content } of messages) characters += textOf(content).length;
  if (characters * max_tokens_per_character * certainty <= model.context_length) return;
  let tokens = 0;
  for (const { content } of messages) tokens += estimateTokens(textOf(content));
  if (tokens * certainty <= model.context_length) return;
  throw invalidField(
    'messages',
    `about ${tokens} tokens are more than the context window of ${model.id}, ${model.context_length} tokens.`,
  );
}
