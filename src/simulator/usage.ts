import type { Reply } from './reply.ts';

/** What has been generated: by one choice so far, or by all of them together. */
export interface Tally {
  readonly completion: number;
  readonly reasoning: number;
}

/** All choices of a finished reply together. */
export function totalTally(reply: Reply): Tally {
  return {
    completion: reply.choices.reduce((sum, choice) => sum + choice.tokens, 0),
    reasoning: reply.choices.reduce((sum, choice) => sum + choice.reasoning_tokens, 0),
  };
}

/** `usage` of a plain completion: every member is there, null when it is not known. */
export function completionUsage(reply: Reply): object {
  const tally = totalTally(reply);
  return {
    ...counts(reply, tally),
    prompt_tokens_details: promptDetails(reply) ?? null,
    completion_tokens_details: completionDetails(reply, tally) ?? null,
  };
}

/** `usage` of the chunk that ends a stream: members that are not known are left out. */
export function finalUsage(reply: Reply): object {
  const tally = totalTally(reply);
  return {
    ...counts(reply, tally),
    prompt_tokens_details: promptDetails(reply),
    completion_tokens_details: completionDetails(reply, tally),
  };
}

/** `usage` of a chunk in the middle: one choice's own count, and never the cached tokens. */
export function runningUsage(reply: Reply, tally: Tally): object {
  return { ...counts(reply, tally), completion_tokens_details: completionDetails(reply, tally) ?? null };
}

function counts(reply: Reply, tally: Tally): object {
  return {
    prompt_tokens: reply.prompt_tokens,
    total_tokens: reply.prompt_tokens + tally.completion,
    completion_tokens: tally.completion,
  };
}

function promptDetails(reply: Reply): object | undefined {
  return reply.cached_tokens === null ? undefined : { cached_tokens: reply.cached_tokens };
}

function completionDetails(reply: Reply, tally: Tally): object | undefined {
  return reply.reasoning_key === null ? undefined : { reasoning_tokens: tally.reasoning };
}
