import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createParser } from 'eventsource-parser';
import { Pool } from 'undici';
import { z } from 'zod';
import { api_key } from './conversation.ts';

const request = z.looseObject({
  model: z.string(),
  messages: z.array(z.looseObject({ role: z.string(), content: z.string() })).min(1),
  stream: z.boolean().optional(),
  metadata: z.record(z.string().max(64), z.string().max(512)).optional(),
});

/**
 * The gateway that one would write for oneself in an afternoon: it checks the key and the request, calls the upstream, and parses and
 * writes anew every reply and event, counting tokens. No limits, no failover, no time limits, no metrics, no correct end of a broken stream.
 */
export function handWrittenGateway(upstream: string): Server {
  const pool = new Pool(upstream);
  const used = { prompt_tokens: 0, completion_tokens: 0 };
  const count = (usage: Partial<typeof used> | undefined): void => {
    used.prompt_tokens += usage?.prompt_tokens ?? 0;
    used.completion_tokens += usage?.completion_tokens ?? 0;
  };

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    if (incoming.headers.authorization !== `Bearer ${api_key}`)
      return refuse(response, 401, 'Invalid API key.');
    const parsed = request.safeParse(JSON.parse(await textOf(incoming)));
    if (!parsed.success) return refuse(response, 400, parsed.error.issues[0]!.message);
    const { model, stream } = parsed.data;
    const reply = await pool.request({
      path: '/v1/chat/completions',
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...parsed.data, model: model.split('/')[1] }),
    });
    if (stream) return pass(reply.body, response, model);
    const completion = JSON.parse(await reply.body.text());
    count(completion.usage);
    const text = JSON.stringify({ ...completion, model });
    response.writeHead(reply.statusCode, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
    });
    response.end(text);
  }

  async function pass(events: AsyncIterable<Buffer>, response: ServerResponse, model: string): Promise<void> {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const parser = createParser({
      onEvent({ data }) {
        if (data === '[DONE]') return void response.write('data: [DONE]\n\n');
        const chunk = JSON.parse(data);
        count(chunk.usage);
        response.write(`data: ${JSON.stringify({ ...chunk, model })}\n\n`);
      },
    });
    for await (const bytes of events) parser.feed(bytes.toString());
    response.end();
  }

  return createServer({ noDelay: true }, (incoming, response) => {
    serve(incoming, response).catch(() => refuse(response, 502, 'The upstream failed.'));
  });
}

async function textOf(incoming: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of incoming) parts.push(part);
  return Buffer.concat(parts).toString();
}

function refuse(response: ServerResponse, status: number, message: string): void {
  if (!response.headersSent) response.writeHead(status, { 'content-type': 'application/json' });
  response.end(
    JSON.stringify({ error: { message, type: 'invalid_request_error', param: null, code: null } }),
  );
}
