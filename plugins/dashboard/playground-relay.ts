import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  type Catalog,
  costOf,
  encodeEvent,
  keepAliveComment,
  SseParser,
  type Usage,
} from '../../src/plugin.ts';

/** Larger than any event of the gateway. */
const max_event_bytes = 64 * 1024 * 1024;
/** Limit for replies that are not streamed: errors, and completions without `stream`. */
const max_reply_bytes = 1024 * 1024;

interface Relay {
  readonly reply: IncomingMessage;
  readonly response: ServerResponse;
  /** Prices for the cost so far; without it no cost is sent. */
  readonly catalog: Catalog | undefined;
  readonly signal: AbortSignal;
}

/**
 * Relays a reply of the gateway to the playground as events, as fast as the page reads: `reply` with the status and request id, and with the
 * body as it came if it is not a stream; then `chunk`, `fault` and `done` with the gateway's own data, unchanged; `cost` with the cost so
 * far. Throws when either side breaks off.
 */
export async function relayReply({ reply, response, catalog, signal }: Relay): Promise<void> {
  const send = async (text: string): Promise<void> => {
    const keepsUp = response.write(text);
    (response as ServerResponse & { flush?: () => void }).flush?.();
    if (!keepsUp) await once(response, 'drain', { signal });
  };
  const { statusCode: status, headers } = reply;
  const isStream = headers['content-type']?.startsWith('text/event-stream') ?? false;
  const head = {
    status,
    request_id: headers['x-request-id'],
    retry_after_s: headers['retry-after'],
    ignored_parameters: headers['x-ignored-parameters'],
  };
  reply.setEncoding('utf8');
  const body = isStream ? {} : { body: await textOf(reply) };
  await send(encodeEvent(JSON.stringify({ ...head, ...body }), 'reply'));
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

/** The fields of a gateway event that are read here. */
interface GatewayEvent {
  readonly model?: string;
  readonly usage?: Usage;
  readonly error?: object;
}

function eventOf(data: string, catalog: Catalog | undefined): string {
  if (data === '[DONE]') return encodeEvent(data, 'done');
  const event = JSON.parse(data) as GatewayEvent;
  if (event.error) return encodeEvent(data, 'fault');
  const cost_usd = catalog && costSoFar(event, catalog);
  const cost = cost_usd === undefined ? '' : encodeEvent(JSON.stringify({ cost_usd }), 'cost');
  return encodeEvent(data, 'chunk') + cost;
}

/** Cost so far, calculated as in settlement. */
function costSoFar({ model = '', usage }: GatewayEvent, catalog: Catalog): string | undefined {
  const pricing = catalog.find(model)?.pricing;
  if (!usage || !pricing) return undefined;
  return costOf({ ...usage, cached_tokens: usage.prompt_tokens_details.cached_tokens }, pricing);
}

async function textOf(reply: AsyncIterable<string>): Promise<string> {
  let text = '';
  for await (const part of reply) {
    text += part;
    if (text.length > max_reply_bytes) throw new Error('a reply that is no stream is too large');
  }
  return text;
}
