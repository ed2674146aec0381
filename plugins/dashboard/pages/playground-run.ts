import { callerOf } from '../access/roles.ts';
import type { Page, PageRequest } from '../page-request.ts';
import { beginEvents, jsonResponse, PageError } from '../page-response.ts';
import { relayReply } from '../playground-relay.ts';
import { max_form_bytes } from '../view/playground.ts';

const max_key_characters = 512;

/**
 * Takes from the script `request`, a JSON body as clients send it, and `key`, which is not stored. Answers in events. For operators and
 * customers alike: the request has the rights of its key and no others.
 */
export const playgroundRunPage: Page = {
  name: 'playground-run',
  post: run,
  max_form_bytes,
  changesNothing: true,
  streams: true,
};

/** Tells the script what the ledger has of request `id` when an answer has ended; `null` until it is written. Customers see their own. */
export const playgroundRecordPage: Page = {
  name: 'playground-record',
  get: async request => jsonResponse(await recordOf(request)),
};

async function run({ context, form, response, scope, services, session }: PageRequest): Promise<undefined> {
  const [body, key] = [form.get('request') ?? '', (form.get('key') ?? '').trim()];
  if (key.length > max_key_characters || /[^\x21-\x7e]/.test(key))
    throw new PageError(422, 'This is not an API key.', 'Copy it once more, without anything around it.');
  // The browser has left.
  if (response.closed) return;
  const left = new AbortController();
  response.once('close', () => left.abort());
  try {
    const reply = await services.calls.chat({ body, key, caller: callerOf(session), signal: left.signal });
    // A write would not reveal this while the page does not read.
    reply.once('close', () => reply.complete || left.abort());
    const request_id = reply.headers['x-request-id'];
    const who = scope.account ? 'customer' : 'operator';
    context.log.info({ [who]: session.actor, request_id }, 'a request of the playground');
    beginEvents(response);
    const catalog = scope.sees.money ? context.catalog : undefined;
    await relayReply({ reply, response, catalog, signal: left.signal });
  } catch (thrown) {
    if (!response.headersSent) throw thrown;
    if (!left.signal.aborted) context.log.warn({ err: thrown }, 'an answer in the playground broke off');
    // A page that is still open must not take this for a regular end.
    response.destroy();
  } finally {
    left.abort();
  }
}

async function recordOf({ context, query, scope }: PageRequest): Promise<object | null> {
  // Of customers the newest of their own: others may have chosen the same id, however often.
  const [row] = await context.records.store.ledger.find(query.get('id') ?? '', scope.account?.id);
  if (!row) return null;
  const { prompt_tokens, cached_tokens, completion_tokens, reasoning_tokens } = row;
  return {
    account: row.account,
    provider: scope.sees.internals ? row.provider : null,
    end_reason: row.end_reason,
    tokens: { prompt_tokens, cached_tokens, completion_tokens, reasoning_tokens },
    ...(scope.sees.money && { cost_usd: row.cost_usd }),
  };
}
