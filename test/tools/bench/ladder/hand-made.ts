/** The spike's way to the upstream, for rungs that have the gateway's canonical forms and not its own way. */
import { createParser } from 'eventsource-parser';
import type { Dispatcher } from 'undici';
import {
  type ChatRequest,
  type Chunk,
  type Completion,
  type Usage,
  usageOf,
} from '../../../../src/canonical.ts';
import type { ReplySource } from '../../../../src/exchange/reply-source.ts';
import type { Exchange } from '../../../../src/exchange.ts';
import type { ChunkSource, StreamHandle } from '../../../../src/stream.ts';

/** Sends the canonical request as it is, without an adapter. Resolves when the head of the reply is there. */
function ask(upstream: Dispatcher, request: ChatRequest, signal: AbortSignal) {
  const { model, messages, stream, temperature, max_tokens, parameters } = request;
  const options = stream && { stream, stream_options: { include_usage: true } };
  return upstream.request({
    path: '/v1/chat/completions',
    method: 'POST',
    headers: { 'content-type': 'application/json', 'accept-encoding': 'identity' },
    body: JSON.stringify({ model, messages, temperature, max_tokens, ...parameters, ...options }),
    signal,
  });
}

function checked<Reply extends Completion | Chunk>(reply: Reply): Reply {
  if (!Array.isArray(reply.choices)) throw new Error('not a reply');
  return reply;
}

const usageByHand = ({ prompt_tokens, completion_tokens }: Usage): Usage =>
  usageOf(prompt_tokens, completion_tokens, 0, undefined);

/** A whole reply, of which only the fields are kept that the canonical form has. */
export async function replyByHand(
  upstream: Dispatcher,
  request: ChatRequest,
  signal: AbortSignal,
): Promise<Completion> {
  const reply = await ask(upstream, request, signal);
  const { choices, usage } = checked<Completion>(JSON.parse(await reply.body.text()));
  const shown = choices.map(({ index, message: { content }, finish_reason }) => ({
    index,
    message: { role: 'assistant' as const, content },
    finish_reason,
  }));
  return { choices: shown, ...(usage && { usage: usageByHand(usage) }) };
}

/** Calls `take` for every chunk of a stream; resolves at its end. */
export async function streamByHand(
  upstream: Dispatcher,
  request: ChatRequest,
  signal: AbortSignal,
  take: (chunk: Chunk) => void,
): Promise<void> {
  const reply = await ask(upstream, request, signal);
  const parser = createParser({
    onEvent({ data }) {
      if (data === '[DONE]') return;
      const { choices, usage } = checked<Chunk>(JSON.parse(data));
      const shown = choices.map(({ index, delta: { role, content }, finish_reason }) => ({
        index,
        delta: { ...(role && { role }), ...(content !== undefined && { content }) },
        finish_reason,
      }));
      take({ choices: shown, ...(usage && { usage: usageByHand(usage) }) });
    },
  });
  reply.body.setEncoding('utf8');
  for await (const text of reply.body) parser.feed(text);
}

/** The same as the source of an exchange's reply: one attempt, no routing, nothing counted. */
export class HandMadeSource implements ReplySource {
  readonly outlivesClient = false;
  readonly ended = true;
  readonly #upstream: Dispatcher;
  readonly #exchange: Exchange;

  constructor(upstream: Dispatcher, exchange: Exchange) {
    this.#upstream = upstream;
    this.#exchange = exchange;
  }

  reply(): Promise<Completion> {
    return replyByHand(this.#upstream, this.#exchange.request, this.#exchange.signal);
  }

  stream(): ChunkSource {
    const { request, signal } = this.#exchange;
    return {
      pushInto: sink =>
        started(() =>
          streamByHand(this.#upstream, request, signal, chunk => {
            sink.chunk(chunk);
            sink.flush();
          }).then(
            () => sink.end(),
            (fault: unknown) => sink.fail(fault),
          ),
        ),
    };
  }

  cancel(): void {}
}

/** A stream that begins with the first `resume`, and has no pauses. */
function started(begin: () => void): StreamHandle {
  let hasBegun = false;
  const resume = () => {
    if (hasBegun) return;
    hasBegun = true;
    begin();
  };
  return { resume, stop: () => {} };
}
