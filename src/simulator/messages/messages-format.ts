import { randomUUID } from 'node:crypto';
import type { Segment } from '../choice.ts';
import type { StreamEvent } from '../chunks.ts';
import { parseBody } from '../read-source.ts';
import { promptTokens, type Reply } from '../reply.ts';
import { runText } from '../tokens.ts';
import type { WireFormat } from '../wire-format.ts';
import { chatRequestOf } from './messages-prompt.ts';
import { readMessages } from './messages-request.ts';
import { checkSignatures, signatureOf } from './signatures.ts';

/** Anthropic's Messages: thinking with signatures, tools, cache figures, and its errors. */
export const messagesFormat: WireFormat = {
  errors: 'anthropic',
  read: body => chatRequestOf(readMessages(body)),
  // The body has been read, so it has this form.
  check: (source, body) => checkSignatures(source, readMessages(body)),
  directives: ({ error }) => ({
    body: 'anthropic',
    // Nothing follows an error.
    ...(error !== undefined && { no_done: true as const }),
  }),
  head(_, isStream) {
    const id = `{"id":"msg_${randomUUID().replaceAll('-', '').slice(0, 24)}",`;
    return isStream ? `event: message_start\ndata: {"type":"message_start","message":${id}` : id;
  },
  completion(reply) {
    const content = reply.choices[0]!.segments.map(segment => wholeBlock(reply, segment));
    return membersOf({ ...frameOf(reply, content), ...endOf(reply), usage: usageOf(reply) });
  },
  events: messageEvents,
  done: eventText('message_stop', {}),
};

/** The reply of `POST /v1/messages/count_tokens`. */
export function countTokensReply(text: string): object {
  const body = readMessages({ max_tokens: 1, ...Object(parseBody(text)) });
  return { input_tokens: promptTokens(chatRequestOf(body)) };
}

/** An object as JSON without its opening brace. */
const membersOf = (value: object): string => JSON.stringify(value).slice(1);

const frameOf = ({ model }: Reply, content: readonly object[]) => ({
  type: 'message',
  role: 'assistant',
  model,
  content,
});

const stop_reasons: Readonly<Record<string, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
};

function endOf({ choices: [choice] }: Reply) {
  const { finish_reason, stop_reason: stop_sequence } = choice!;
  const stop_reason =
    stop_sequence === null ? (stop_reasons[finish_reason] ?? finish_reason) : 'stop_sequence';
  return { stop_reason, stop_sequence };
}

/** Usage with `output` tokens; `input_tokens` counts what was neither read from the cache nor written to it. */
function usageOf({ prompt_tokens, options, total }: Reply, output = total.completion): object | undefined {
  if (options.usage === 'none') return undefined;
  const cache_read_input_tokens = Math.floor(prompt_tokens * (options.cached_tokens ?? 0));
  const rest = prompt_tokens - cache_read_input_tokens;
  const cache_creation_input_tokens = Math.min(rest, Math.floor(prompt_tokens * options.cache_creation));
  return {
    input_tokens: rest - cache_creation_input_tokens,
    cache_creation_input_tokens,
    cache_read_input_tokens,
    output_tokens: output,
    ...(total.reasoning > 0 &&
      output === total.completion && {
        output_tokens_details: { thinking_tokens: total.reasoning },
      }),
  };
}

const callId = (id: string): string => `toolu_${id.slice(-24)}`;

function wholeBlock({ request }: Reply, { channel, run, call }: Segment): object {
  const text = runText(run);
  if (call) return { type: 'tool_use', id: callId(call.id), name: call.name, input: inputOf(text) };
  if (channel === 'content') return { type: 'text', text };
  return { type: 'thinking', thinking: request.include_reasoning ? text : '', signature: signatureOf(text) };
}

/** Arguments, or an empty object where `max_tokens` has cut them. */
function inputOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

function eventText(type: string, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

/** The events of a stream but the last, `message_stop`. */
function* messageEvents(reply: Reply): Generator<StreamEvent, void> {
  const start = { ...frameOf(reply, []), stop_reason: null, stop_sequence: null, usage: usageOf(reply, 1) };
  yield { text: `${membersOf(start)}}\n\n`, step: 0 };
  yield { text: eventText('ping', {}), step: 0, bare: true };
  let tokens = 0;
  for (const [index, segment] of reply.choices[0]!.segments.entries()) {
    yield* blockEvents(reply, segment, index, tokens);
    tokens += segment.run.count;
  }
  const usage = usageOf(reply);
  yield {
    text: eventText('message_delta', { delta: endOf(reply), usage }),
    step: Math.max(0, tokens - 1),
    bare: true,
  };
}

function* blockEvents(reply: Reply, segment: Segment, index: number, before: number): Generator<StreamEvent> {
  const { channel, run, call } = segment;
  const { tokens_per_chunk } = reply.options;
  const event = (type: string, fields: object, tokens: number): StreamEvent => ({
    text: eventText(type, { index, ...fields }),
    step: Math.max(0, before + tokens - 1),
    bare: true,
  });
  yield event('content_block_start', { content_block: emptyBlock(segment) }, 0);
  const isShown = channel !== 'reasoning' || reply.request.include_reasoning;
  for (let start = 0; start < run.count && isShown; start += tokens_per_chunk) {
    const end = Math.min(start + tokens_per_chunk, run.count);
    const text = runText(run, start, end);
    const delta = call
      ? { type: 'input_json_delta', partial_json: text }
      : channel === 'reasoning'
        ? { type: 'thinking_delta', thinking: text }
        : { type: 'text_delta', text };
    yield event('content_block_delta', { delta }, end);
  }
  if (channel === 'reasoning') {
    const delta = { type: 'signature_delta', signature: signatureOf(runText(run)) };
    yield event('content_block_delta', { delta }, run.count);
  }
  yield event('content_block_stop', {}, run.count);
}

function emptyBlock({ channel, call }: Segment): object {
  if (call) return { type: 'tool_use', id: callId(call.id), name: call.name, input: {} };
  return channel === 'reasoning'
    ? { type: 'thinking', thinking: '', signature: '' }
    : { type: 'text', text: '' };
}
