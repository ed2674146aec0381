import type { Choice, Segment } from './choice.ts';
import { FINGERPRINT } from './completion.ts';
import type { Reply } from './reply.ts';
import { runText } from './token-run.ts';
import { finalUsage, runningUsage, type Tally } from './usage.ts';

/** One SSE event of a stream. */
export interface StreamEvent {
  /** The event from `"choices":` on; what stands before it is the same for the whole stream. */
  readonly text: string;
  /** Tokens that its choice generates after the first one before it can be sent: what pacing counts in. */
  readonly step: number;
  /** The text is the whole event. */
  readonly bare?: true;
}

/** Options by which the same reply may differ from stream to stream. */
export interface ChunkStyle {
  readonly tokens_per_chunk: number;
  readonly include_usage: boolean;
  readonly continuous_usage_stats: boolean;
}

/** The start of every event of one stream, up to its choices. */
export function chunkHead(id: string, created: number, model: string): string {
  return `data: {"id":"${id}","object":"chat.completion.chunk","created":${created},"model":${JSON.stringify(model)},`;
}

/** The events of a reply in vLLM's order: a role per choice, the choices side by side, the usage. Without `[DONE]`. */
export function* renderChunks(reply: Reply, style: ChunkStyle): Generator<StreamEvent, void> {
  const nothing: Tally = { completion: 0, reasoning: 0 };
  for (const index of reply.choices.keys()) {
    const choice = `{"index":${index},"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}`;
    const internals = ',"prompt_token_ids":null,"prompt_text":null';
    yield { text: eventText(choice, runningPart(reply, style, nothing) + internals), step: 0 };
  }
  const choices = reply.choices.map((choice, index) => choiceChunks(reply, style, choice, index));
  yield* choices.length === 1 && choices[0] ? choices[0] : sideBySide(choices);
  if (style.include_usage) {
    const usage = JSON.stringify(finalUsage(reply));
    const step = Math.max(0, ...reply.choices.map(choice => choice.tokens - 1));
    yield { text: eventText('', `,"usage":${usage},"system_fingerprint":"${FINGERPRINT}"`), step };
  }
}

function* choiceChunks(
  reply: Reply,
  style: ChunkStyle,
  choice: Choice,
  index: number,
): Generator<StreamEvent, void> {
  let tally: Tally = { completion: 0, reasoning: 0 };
  for (const segment of choice.segments) {
    if (segment.call) yield render(callDelta(segment.call), null, tally);
    for (let start = 0; start < segment.run.count; start += style.tokens_per_chunk) {
      const end = Math.min(start + style.tokens_per_chunk, segment.run.count);
      tally = advance(tally, segment, end - start);
      if (segment.channel === 'reasoning' && !reply.show_reasoning) continue;
      // An engine that reaches the token limit says so together with the last token.
      const last = choice.finish_reason === 'length' && tally.completion === choice.tokens;
      yield render(
        textDelta(reply, segment, runText(segment.run, start, end)),
        last ? 'length' : null,
        tally,
      );
      if (last) return;
    }
  }
  yield render(reply.reasoning_key === null ? '{"content":""}' : '{}', choice.finish_reason, tally);

  function render(delta: string, finish_reason: string | null, at: Tally): StreamEvent {
    const finish = JSON.stringify(finish_reason);
    const stop = finish_reason === null ? '' : `,"stop_reason":${JSON.stringify(choice.stop_reason)}`;
    const body = `{"index":${index},"delta":${delta},"logprobs":null,"finish_reason":${finish}${stop},"token_ids":null}`;
    const stamp =
      finish_reason === null || style.include_usage ? '' : `,"system_fingerprint":"${FINGERPRINT}"`;
    return {
      text: eventText(body, runningPart(reply, style, at) + stamp),
      step: Math.max(0, at.completion - 1),
    };
  }
}

function advance(tally: Tally, segment: Segment, tokens: number): Tally {
  const reasoning = segment.channel === 'reasoning' ? tokens : 0;
  return { completion: tally.completion + tokens, reasoning: tally.reasoning + reasoning };
}

function callDelta({ index, id, name }: NonNullable<Segment['call']>): string {
  const called = `{"name":${JSON.stringify(name)},"arguments":""}`;
  return `{"tool_calls":[{"id":"${id}","type":"function","index":${index},"function":${called}}]}`;
}

function textDelta(reply: Reply, segment: Segment, text: string): string {
  const json = JSON.stringify(text);
  if (segment.call) {
    return `{"tool_calls":[{"index":${segment.call.index},"function":{"arguments":${json}}}]}`;
  }
  return segment.channel === 'reasoning' ? `{"${reply.reasoning_key}":${json}}` : `{"content":${json}}`;
}

function runningPart(reply: Reply, style: ChunkStyle, tally: Tally): string {
  if (!style.continuous_usage_stats) return '';
  return `,"usage":${JSON.stringify(runningUsage(reply, tally))}`;
}

function eventText(choice: string, rest: string): string {
  return `"choices":[${choice}]${rest}}\n\n`;
}

/** Merges the choices' events in the order of generation; at the same time the lower index first. */
function* sideBySide(choices: readonly Generator<StreamEvent, void>[]): Generator<StreamEvent, void> {
  const heads = choices.map(choice => ({ choice, next: choice.next() }));
  while (true) {
    let first: (typeof heads)[number] | undefined;
    for (const head of heads) {
      if (head.next.done) continue;
      if (first === undefined || head.next.value.step < (first.next.value as StreamEvent).step) first = head;
    }
    if (first === undefined) return;
    yield first.next.value as StreamEvent;
    first.next = first.choice.next();
  }
}
