/** A gateway written by hand for one upstream, `spike UPSTREAM`: parses, checks and writes anew both ways, and does nothing else. */
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createParser } from 'eventsource-parser';
import { type Dispatcher, Pool } from 'undici';
import type { z } from 'zod';
import { chatRequest } from '../../../src/dialects/chat-completions/chat-request.ts';
import { listen } from '../processes.ts';

const max_body_bytes = 16_777_216;

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const parts: Buffer[] = [];
  let total_bytes = 0;
  for await (const part of request) {
    total_bytes += part.length;
    if (total_bytes > max_body_bytes) throw new Error('the body is too large');
    parts.push(part);
  }
  return JSON.parse(Buffer.concat(parts).toString());
}

/** What a client gets in place of the upstream's own; `usage` of a chunk only at the end. */
function rewritten(text: string, identity: object, wantsUsage: boolean) {
  const { choices, usage } = JSON.parse(text);
  if (!Array.isArray(choices)) throw new Error('not a reply');
  return JSON.stringify({
    ...identity,
    choices: choices.map(({ index, message, delta, finish_reason }) => {
      const { role, content, reasoning, tool_calls } = message ?? delta;
      const shown = {
        role,
        content,
        ...(reasoning && { reasoning }),
        ...(tool_calls?.length && { tool_calls }),
      };
      return { index, ...(message ? { message: shown } : { delta: shown }), finish_reason };
    }),
    ...(wantsUsage && { usage }),
  });
}

/** Sends a checked request to `upstream`, and its reply or stream to the client. */
export async function forward(
  upstream: Dispatcher,
  asked: z.output<typeof chatRequest>,
  response: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => response.writableEnded || gone.abort());
  const reply = await upstream.request({
    path: '/v1/chat/completions',
    method: 'POST',
    headers: { 'content-type': 'application/json', 'accept-encoding': 'identity' },
    body: JSON.stringify({ ...asked, ...(asked.stream && { stream_options: { include_usage: true } }) }),
    signal: gone.signal,
  });
  const created = Math.floor(Date.now() / 1000);
  const object = asked.stream ? 'chat.completion.chunk' : 'chat.completion';
  const identity = { id: `chatcmpl-${randomUUID()}`, object, created, model: asked.model };
  if (!asked.stream) {
    const text = rewritten(await reply.body.text(), identity, true);
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
    response.writeHead(reply.statusCode, headers).end(text);
    return;
  }
  response.writeHead(reply.statusCode, { 'content-type': 'text/event-stream' });
  const parser = createParser({
    onEvent({ data }) {
      if (data === '[DONE]') response.end('data: [DONE]\n\n');
      else response.write(`data: ${rewritten(data, identity, data.includes('"choices":[]'))}\n\n`);
    },
  });
  reply.body.setEncoding('utf8');
  for await (const text of reply.body) parser.feed(text);
}

/** The spike as a listener in front of the server at `origin`. */
export function spike(origin: string): RequestListener {
  const upstream = new Pool(origin, { connections: null });
  const answer = async (request: IncomingMessage, response: ServerResponse) =>
    forward(upstream, chatRequest.parse(await bodyOf(request)), response);
  return (request, response) => {
    answer(request, response).catch(error => response.destroy(error));
  };
}

if (import.meta.main) listen(createServer(spike(process.argv[2]!)));
