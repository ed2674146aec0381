import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Usage } from '../canonical.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { costOf } from '../settlement/cost.ts';
import { encodeEvent, keepAliveComment } from '../sse/encode.ts';
import { SseParser } from '../sse/parse.ts';

/** Larger than any event of the gateway. */
const max_event_bytes = 64 * 1024 * 1024;
/** Limit for replies that are not streamed: errors, and completions without `stream`. */
const max_reply_bytes = 1024 * 1024;

/** The fields of a gateway event that are read here. */
interface GatewayEvent {
  readonly model?: string;
  readonly usage?: Usage;
  readonly error?: object;
}

/**
 * Relays a reply of the gateway to the page as events, as fast as the page reads: `reply` with the status and request id, and with the body
 * if it is not a stream; then `chunk` for each chunk, with the cost so far; `fault` for an error within the stream; `done`. Throws when
 * either side breaks off.
 */
export async function relayReply(
  reply: IncomingMessage,
  response: ServerResponse,
  catalog: Catalog,
  signal: AbortSignal,
): Promise<void> {
  const send = async (text: string): Promise<void> => {
    const keepsUp = response.write(text);
    (response as ServerResponse & { flush?: () => void }).flush?.();
    if (!keepsUp) await once(response, 'drain', { signal });
  };
  reply.setEncoding('utf8');
  const isStream = reply.headers['content-type']?.startsWith('text/event-stream') ?? false;
  const body = isStream ? {} : { body: parsed(await textOf(reply)) };
  await send(encodeEvent(JSON.stringify({ ...headOf(reply), ...body }), 'reply'));
  if (isStream) {
    const parser = new SseParser(max_event_bytes);
    for await (const text of reply as AsyncIterable<string>) {
      const events = parser.feed(text).map(({ data }) => eventOf(data, catalog));
      // The gateway's comments keep this connection alive as well.
      await send(events.join('') || keepAliveComment);
    }
  }
  response.end();
}

const headOf = ({ statusCode, headers }: IncomingMessage) => ({
  status: statusCode,
  request_id: headers['x-request-id'],
  retry_after_s: headers['retry-after'],
  ignored_parameters: headers['x-ignored-parameters'],
});

function eventOf(data: string, catalog: Catalog): string {
  if (data === '[DONE]') return encodeEvent('{}', 'done');
  const event = JSON.parse(data) as GatewayEvent;
  if (event.error) return encodeEvent(data, 'fault');
  return encodeEvent(JSON.stringify({ ...event, cost_usd: costSoFar(event, catalog) }), 'chunk');
}

/** Cost so far, calculated as in settlement. */
function costSoFar({ model = '', usage }: GatewayEvent, catalog: Catalog): string | undefined {
  const pricing = catalog.find(model)?.pricing;
  if (!usage || !pricing) return undefined;
  const { prompt_tokens, completion_tokens, prompt_tokens_details } = usage;
  return costOf(
    { prompt_tokens, completion_tokens, cached_tokens: prompt_tokens_details.cached_tokens },
    pricing,
  );
}

async function textOf(reply: IncomingMessage): Promise<string> {
  let text = '';
  for await (const part of reply as AsyncIterable<string>) {
    text += part;
    if (text.length > max_reply_bytes) throw new Error('a reply that is no stream is too large');
  }
  return text;
}

/** Parsed JSON; anything else was not written by the gateway. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return { error: { message: text.slice(0, 500), type: 'unknown' } };
  }
}
