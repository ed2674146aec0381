import { type ChatRequest, lastText } from './chat-request.ts';
import { type Directives, stripDirectives } from './directives.ts';
import { proseRun, quoteWords } from './prose.ts';
import type { Source } from './source.ts';
import { listRun, type TokenRun, textRun } from './tokens.ts';

/** Fewest tokens of reasoning per effort; up to seven more are added by the seed. */
const REASONING_TOKENS: Readonly<Record<string, number>> = {
  none: 0,
  minimal: 8,
  low: 16,
  medium: 32,
  high: 64,
  xhigh: 96,
  max: 128,
};
const DEFAULT_EFFORT = 'medium';
const ANSWER_TOKENS = { min: 24, max: 64 };

/** The first words of the last user message, at most `most`. */
export const topicWords = ({ messages }: ChatRequest, most: number): string[] =>
  quoteWords(stripDirectives(lastText(messages, 'user')), most);

/** The reasoning before the answer; empty when the request or a directive switches it off. */
export function planReasoning({ request, directives }: Source, seed: number): TokenRun {
  const quote = topicWords(request, 4).join(' ');
  const opening = quote === '' ? 'The user leaves the topic open.' : `The user mentions "${quote}".`;
  return proseRun(seed, opening, directives.reasoning_tokens ?? reasoningTokens(request, directives, seed));
}

/** The answer: the text of a directive, a quote of the tool's result, or prose that quotes the prompt. */
export function planAnswer({ request, directives, body_text }: Source, seed: number): TokenRun {
  if (directives.say !== undefined) return textRun(directives.say);
  if (directives.echo) return textRun(body_text);
  if (directives.images) return textRun(JSON.stringify({ images: request.messages.flatMap(imagesIn) }));
  const count = directives.tokens ?? ANSWER_TOKENS.min + (seed % (ANSWER_TOKENS.max - ANSWER_TOKENS.min + 1));
  return count === 0 ? listRun([]) : proseRun(seed, answerOpening(request), count);
}

function reasoningTokens(request: ChatRequest, directives: Directives, seed: number): number {
  if (!request.enable_thinking || request.reasoning_effort === 'none' || directives.echo) return 0;
  return (REASONING_TOKENS[request.reasoning_effort ?? DEFAULT_EFFORT] ?? 0) + (seed % 8);
}

/** The images of a message: kind and size of those that it carries, the address of others. */
const imagesIn = ({ images }: ChatRequest['messages'][number]): string[] =>
  images.map(url => {
    const [, type, data = ''] = /^data:([^;,]*);base64,(.*)$/s.exec(url) ?? [];
    return type === undefined ? url : `${type} ${Buffer.from(data, 'base64').length} bytes`;
  });

function answerOpening(request: ChatRequest): string {
  const last = request.messages.at(-1);
  const result = last?.role === 'tool' ? quoteWords(last.text, 10).join(' ') : '';
  if (result !== '') return `The tool returned "${result}".`;
  const quote = topicWords(request, 6).join(' ');
  return quote === '' ? 'Here is an answer.' : `You asked about "${quote}".`;
}
