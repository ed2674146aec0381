import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Usage } from '../../canonical.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import { costOf } from '../../settlement/cost.ts';
import { encodeEvent, keepAliveComment } from '../../sse/encode.ts';
import { SseParser } from '../../sse/parse.ts';
import type { Page, PageRequest } from '../page-request.ts';
import { beginEvents, jsonResponse, PageError } from '../page-response.ts';

/** Enough for a prompt that fills most of a context window. */
const max_form_bytes = 4 * 1024 * 1024;
const max_key_characters = 512;
/** Larger than any event of the gateway. */
const max_event_bytes = 64 * 1024 * 1024;
/** Limit for replies that are not streamed: errors, and completions without `stream`. */
const max_reply_bytes = 1024 * 1024;

/** Takes from the script `request`, a JSON body as clients send it, and `key`, which is not stored. Answers in events. */
export const playgroundRunPage: Page = {
  name: 'playground-run',
  post: run,
  max_form_bytes,
  changesNothing: true,
};

/** Returns the ledger's row of request `id` to the script when an answer has ended; `null` until it is written. */
export const playgroundRecordPage: Page = {
  name: 'playground-record',
  get: async ({ context, query }) => {
    const [row] = await context.records.store.ledger.find(query.get('id') ?? '');
    return jsonResponse(row ?? null);
  },
};

async function run(request: PageRequest): Promise<undefined> {
  const { context, form, response, session } = request;
  const [body, key] = [form.get('request') ?? '', (form.get('key') ?? '').trim()];
  if (key.length > max_key_characters || /[^\x21-\x7e]/.test(key))
    throw new PageError(422, 'This is not an API key.', 'Copy it once more, without anything around it.');
  // The browser has left.
  if (response.closed) return;
  const left = new AbortController();
  response.once('close', () => left.abort());
  try {
    const reply = await context.calls.chat({ body, key, signal: left.signal });
    // A write would not reveal this while the page does not read.
    reply.once('close', () => reply.complete || left.abort());
    const request_id = reply.headers['x-request-id'];
    context.log.info({ operator: session.actor, request_id }, 'an operator asks in the playground');
    beginEvents(response);
    await relay(reply, response, context.catalog, left.signal);
  } catch (thrown) {
    if (!response.headersSent) throw thrown;
    if (!left.signal.aborted) context.log.warn({ err: thrown }, 'an answer in the playground broke off');
    // A page that is still open must not take this for a regular end.
    response.destroy();
  } finally {
    left.abort();
  }
}

/**
 * Relays a reply of the gateway to the page as events, as fast as the page reads: `reply` with the status and request id, and with the body
 * if it is not a stream; then `chunk` for each chunk, with the cost so far; `fault` for an error within the stream; `done`. Throws when
 * either side breaks off.
 */
async function relay(
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
  const { statusCode: status, headers } = reply;
  const isStream = headers['content-type']?.startsWith('text/event-stream') ?? false;
  const head = {
    status,
    request_id: headers['x-request-id'],
    retry_after_s: headers['retry-after'],
    ignored_parameters: headers['x-ignored-parameters'],
  };
  reply.setEncoding('utf8');
  const body = isStream ? {} : { body: parsed(await textOf(reply)) };
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

/** Parsed JSON; anything else was not written by the gateway. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return { error: { message: text.slice(0, 500), type: 'unknown' } };
  }
}
