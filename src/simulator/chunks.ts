import type { Choice, Segment, Tally } from './choice.ts';
import { FINGERPRINT } from './completion.ts';
import { type Reply, usageOf } from './reply.ts';
import { runText } from './tokens.ts';

/** One SSE event of a stream. */
export interface StreamEvent {
  /** The event from `"choices":` on; what stands before it is the same for the whole stream. */
  readonly text: string;
  /** Tokens that its choice generates after the first one before it can be sent: what pacing counts in. */
  readonly step: number;
  /** The text is the whole event. */
  readonly bare?: true;
}

const NOTHING: Tally = { completion: 0, reasoning: 0 };

/** The events of a reply in vLLM's order: a role per choice, the choices side by side, the usage. Without `[DONE]`. */
export function* renderChunks(reply: Reply): Generator<StreamEvent, void> {
  const internals = { prompt_token_ids: null, prompt_text: null };
  for (const index of reply.choices.keys()) {
    const delta = { role: 'assistant', content: '' };
    const choice = { index, delta, logprobs: null, finish_reason: null };
    yield eventOf([choice], { usage: runningUsage(reply, NOTHING), ...internals }, 0);
  }
  yield* sideBySide(reply.choices.map((choice, index) => choiceChunks(reply, choice, index)));
  if (!includesUsage(reply)) return;
  const step = Math.max(0, ...reply.choices.map(({ tally }) => tally.completion - 1));
  yield eventOf([], { usage: usageOf(reply, reply.total), system_fingerprint: FINGERPRINT }, step);
}

const includesUsage = ({ request, options }: Reply): boolean =>
  request.include_usage && options.usage !== 'none';

/** `usage` of a chunk in the middle, if asked for: one choice's own count, never the cached tokens. */
function runningUsage(reply: Reply, tally: Tally): object | undefined {
  const { request, options } = reply;
  if (!includesUsage(reply) || !request.continuous_usage_stats || options.usage === 'final') return undefined;
  return { ...usageOf(reply, tally, null), prompt_tokens_details: undefined };
}

/** `more` are the members behind the choices; undefined ones are left out. */
const eventOf = (choices: readonly object[], more: object, step: number): StreamEvent => ({
  text: `${JSON.stringify({ choices, ...more }).slice(1)}\n\n`,
  step,
});

function* choiceChunks(reply: Reply, choice: Choice, index: number): Generator<StreamEvent, void> {
  const { tokens_per_chunk } = reply.options;
  let tally = NOTHING;
  for (const segment of choice.segments) {
    const { call, channel, run } = segment;
    if (call) {
      const called = { name: call.name, arguments: '' };
      yield render({ tool_calls: [{ id: call.id, type: 'function', index: call.index, function: called }] });
    }
    for (let start = 0; start < run.count; start += tokens_per_chunk) {
      const end = Math.min(start + tokens_per_chunk, run.count);
      const reasoning = channel === 'reasoning' ? end - start : 0;
      tally = { completion: tally.completion + end - start, reasoning: tally.reasoning + reasoning };
      if (channel === 'reasoning' && !reply.request.include_reasoning) continue;
      // An engine that reaches the token limit says so together with the last token.
      const last = choice.finish_reason === 'length' && tally.completion === choice.tally.completion;
      yield render(textDelta(reply, segment, runText(run, start, end)), last ? 'length' : null);
      if (last) return;
    }
  }
  yield render(reply.reasoning_key === null ? { content: '' } : {}, choice.finish_reason);

  function render(delta: object, finish_reason: string | null = null): StreamEvent {
    const stop_reason = finish_reason === null ? undefined : choice.stop_reason;
    const choices = [{ index, delta, logprobs: null, finish_reason, stop_reason, token_ids: null }];
    const system_fingerprint = finish_reason === null || includesUsage(reply) ? undefined : FINGERPRINT;
    const more = { usage: runningUsage(reply, tally), system_fingerprint };
    return eventOf(choices, more, Math.max(0, tally.completion - 1));
  }
}

function textDelta(reply: Reply, { call, channel }: Segment, text: string): object {
  if (call) return { tool_calls: [{ index: call.index, function: { arguments: text } }] };
  return channel === 'reasoning' ? { [reply.reasoning_key ?? 'reasoning']: text } : { content: text };
}

/** Merges the choices' events in the order of generation; at the same time the lower index first. */
function* sideBySide(choices: readonly Generator<StreamEvent, void>[]): Generator<StreamEvent, void> {
  const waiting = choices.map(choice => ({ choice, event: choice.next().value }));
  while (true) {
    let first: (typeof waiting)[number] | undefined;
    for (const next of waiting)
      if (next.event && (!first?.event || next.event.step < first.event.step)) first = next;
    if (!first?.event) return;
    yield first.event;
    first.event = first.choice.next().value;
  }
}
