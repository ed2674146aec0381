import {
  type CatalogAnswer,
  decodePath,
  doneEvent,
  type Exchange,
  encodeEvent,
  GatewayError,
  invalidField,
  type Json,
  refusal,
  shown,
} from '../../../../src/plugin.ts';
import { type ContinuedRequests, isUnfinished } from './continued-requests.ts';
import type { KeptResponse, ResponseArchive } from './response-archive.ts';
import { noResponse } from './store-errors.ts';
import { listedItem, type StoredItem } from './stored-items.ts';

const below = '/v1/responses/';
/** Methods by what follows the id. */
const allowed: ReadonlyMap<string | undefined, readonly string[]> = new Map([
  [undefined, ['GET', 'DELETE']],
  ['input_items', ['GET']],
  ['cancel', ['POST']],
]);
/** How long after its time limit a response may still be written. */
const grace_ms = 60_000;
const default_limit = 20;
const max_limit = 100;

/** Answers requests for stored responses, each for its own account's alone. */
export class StoredResponseAnswers {
  readonly #archive: ResponseArchive;
  readonly #continued: ContinuedRequests;

  constructor(continued: ContinuedRequests) {
    this.#archive = continued.archive;
    this.#continued = continued;
  }

  /** The answer to a request; throws 404 for what the account does not have. */
  async answer(exchange: Exchange): Promise<CatalogAnswer> {
    const { path, method, account, incoming } = exchange;
    const [id = '', part, ...more] = path.slice(below.length).split('/').map(decodePath);
    const asked = allowed.get(part);
    if (more.length > 0 || !asked) throw refusal('unknown_url');
    if (!asked.includes(method))
      throw refusal('method_not_allowed', { headers: { allow: asked.join(', ') } });
    if (!account) throw noResponse(id);
    const [found] = await this.#archive.lookUp(account.id, [id]);
    if (found?.response.object !== 'response') throw noResponse(id);
    const query = queryOf(incoming);
    if (part === 'input_items') return json(pageOf(await this.#continued.inputOf(found, account.id), query));
    if (part === 'cancel') return this.#cancelled(account.id, found);
    if (method === 'DELETE') return this.#deleted(account.id, found);
    if (query.get('stream') === 'true') return this.#events(account.id, found, query, exchange.signal);
    return text(this.#now(account.id, found));
  }

  /** JSON of a response as it is now. */
  #now(account: string, { id, response }: KeptResponse): string {
    if (!isUnfinished(response)) return JSON.stringify(response);
    const run = this.#archive.runs.find(account, id);
    if (run) return run.response;
    const begun_ms = Number(response.created_at) * 1000;
    const isLost = this.#archive.now_ms > begun_ms + this.#archive.options.background_timeout_ms + grace_ms;
    const error = { code: 'server_error', message: 'The server that generated it has ended.' };
    return JSON.stringify(isLost ? { ...response, status: 'failed', error } : response);
  }

  async #deleted(account: string, found: KeptResponse): Promise<CatalogAnswer> {
    const { id } = found;
    if (isUnfinished(JSON.parse(this.#now(account, found)) as Json)) throw unfinished('delete');
    this.#archive.runs.delete(id);
    if (!(await this.#archive.delete(account, id))) throw noResponse(id);
    return json({ id, object: 'response', deleted: true });
  }

  /** Ends a response that is generated here; one that has ended stays as it is. */
  async #cancelled(account: string, found: KeptResponse): Promise<CatalogAnswer> {
    if (found.response.background !== true)
      throw invalidField('response_id', 'only a response with background: true can be cancelled.');
    const now = this.#now(account, found);
    const response = JSON.parse(now) as Json;
    if (!isUnfinished(response)) return text(now);
    const run = this.#archive.runs.find(account, found.id);
    if (!run) throw elsewhere();
    const cancelled = JSON.stringify({ ...response, status: 'cancelled' });
    run.cancel(cancelled);
    await this.#continued.replace(found, account, cancelled);
    return text(cancelled);
  }

  /** The events of a response as they come; of one whose events are not kept the last one alone. */
  #events(account: string, found: KeptResponse, query: URLSearchParams, signal: AbortSignal): CatalogAnswer {
    const after = Number(query.get('starting_after') ?? -1);
    if (!Number.isInteger(after))
      throw invalidField('starting_after', `must be an integer, not ${shown(query.get('starting_after'))}`);
    const run = this.#archive.runs.find(account, found.id);
    if (run) return { status: 200, headers: {}, body: run.follow(after, signal) };
    const response = JSON.parse(this.#now(account, found)) as Json;
    if (isUnfinished(response)) throw elsewhere();
    return { status: 200, headers: {}, body: lastEvent(response, after + 1) };
  }
}

async function* lastEvent(response: Json, sequence_number: number): AsyncGenerator<string> {
  const type = `response.${String(response.status)}`;
  yield encodeEvent(JSON.stringify({ type, sequence_number, response }), type);
  yield doneEvent;
}

/** The page of a list that a query asks for. */
export function pageOf(items: readonly StoredItem[], query: URLSearchParams): object {
  const order = query.get('order') ?? 'desc';
  if (order !== 'asc' && order !== 'desc')
    throw invalidField('order', `must be "asc" or "desc", not ${shown(order)}`);
  const limit = Number(query.get('limit') ?? default_limit);
  if (!Number.isInteger(limit) || limit < 1 || limit > max_limit)
    throw invalidField(
      'limit',
      `must be an integer from 1 to ${max_limit}, not ${shown(query.get('limit'))}`,
    );
  const ordered = order === 'asc' ? items : items.toReversed();
  const after = query.get('after');
  const start = after === null ? 0 : ordered.findIndex(({ id }) => id === after) + 1;
  if (after !== null && start === 0)
    throw invalidField('after', `must be the id of an item of the list, not ${shown(after)}`);
  const data = ordered.slice(start, start + limit).map(listedItem);
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: start + limit < ordered.length,
  };
}

/** The query of a request, whatever path the application has taken from its address. */
export const queryOf = ({ url = '' }: Exchange['incoming']): URLSearchParams =>
  new URLSearchParams(url.includes('?') ? url.slice(url.indexOf('?')) : '');

const text = (body: string): CatalogAnswer => ({ status: 200, headers: {}, body });
export const json = (body: object): CatalogAnswer => text(JSON.stringify(body));

const unfinished = (what: string): GatewayError =>
  invalidField('response_id', `is still generated; cancel it before you ${what} it.`);

/** Clients send the request again after this status, perhaps to the instance that generates the response. */
const elsewhere = (): GatewayError =>
  new GatewayError(
    'invalid_request_error',
    409,
    'Another instance generates this response. Retry, or poll it.',
    {
      headers: { 'retry-after': '1' },
    },
  );
