import {
  type Completion,
  isObject,
  refusal,
  tokenCount,
  UpstreamError,
  usageOf,
} from '../../../src/plugin.ts';

/** A reply whose result is no text. */
export function replyWith(output: unknown, body: unknown): Completion {
  const usage = usageIn(body);
  return {
    choices: [{ index: 0, message: { role: 'assistant', content: '', output }, finish_reason: 'stop' }],
    ...(usage && { usage }),
  };
}

/** The result of such a reply. Throws where a stage has answered in its place. */
export function outputOf<T>({ choices }: Completion): T {
  const output = choices[0]?.message.output;
  if (output === undefined) throw invalid('no result');
  return output as T;
}

function usageIn(body: unknown) {
  const told = isObject(body) && isObject(body.usage) ? body.usage : {};
  const prompt_tokens = tokenCount(told.prompt_tokens ?? told.total_tokens);
  return prompt_tokens === undefined ? undefined : usageOf(prompt_tokens, 0);
}

/** Throws for an error in the place of a reply. */
export function expectReply(body: unknown): void {
  const told = UpstreamError.in(body);
  if (told) throw told.withoutStatus();
}

/** The error for a reply that cannot be used. */
export const invalid = (has: string) =>
  refusal('provider_invalid', { cause: new Error(`a reply with ${has}`) });

/** For requests whose `stream` is never true. */
export function noStream(): never {
  throw new Error('the reply of this operation is not streamed');
}
