import {
  type CatalogAnswer,
  decodePath,
  type Exchange,
  invalidField,
  refusal,
  shown,
} from '../../../../src/plugin.ts';
import type { ContinuedRequests } from './continued-requests.ts';
import type { ResponseArchive } from './response-archive.ts';
import { noResponse } from './store-errors.ts';
import { listedItem, type StoredItem } from './stored-items.ts';

const below = '/v1/responses/';
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
  async answer({ path, method, account, incoming }: Exchange): Promise<CatalogAnswer> {
    const [id = '', part, ...more] = path.slice(below.length).split('/').map(decodePath);
    if (more.length > 0 || (part !== undefined && part !== 'input_items')) throw refusal('unknown_url');
    if (!account) throw noResponse(id);
    if (method === 'GET' && part) return json(await this.#items(account.id, id, queryOf(incoming)));
    if (method === 'GET') return json(await this.#response(account.id, id));
    if (part) throw refusal('method_not_allowed', { headers: { allow: 'GET' } });
    if (!(await this.#archive.delete(account.id, id))) throw noResponse(id);
    return json({ id, object: 'response', deleted: true });
  }

  async #response(account: string, id: string): Promise<object> {
    const [found] = await this.#archive.lookUp(account, [id]);
    if (!found) throw noResponse(id);
    return found.response;
  }

  async #items(account: string, id: string, query: URLSearchParams): Promise<object> {
    const [found] = await this.#archive.lookUp(account, [id]);
    if (!found) throw noResponse(id);
    const items = await this.#continued.inputOf(found, account);
    return pageOf(items, query);
  }
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
const queryOf = ({ url = '' }: Exchange['incoming']): URLSearchParams =>
  new URLSearchParams(url.includes('?') ? url.slice(url.indexOf('?')) : '');

const json = (body: object): CatalogAnswer => ({ status: 200, headers: {}, body: JSON.stringify(body) });
