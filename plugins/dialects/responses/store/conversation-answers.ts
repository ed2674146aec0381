import {
  type CatalogAnswer,
  decodePath,
  type Exchange,
  invalidField,
  isObject,
  type Json,
  parseBody,
  refusal,
  requestFields,
} from '../../../../src/plugin.ts';
import { item } from '../input-items.ts';
import type { ContinuedRequests } from './continued-requests.ts';
import { noConversation } from './store-errors.ts';
import { itemsOf, listedItem, type StoredItem } from './stored-items.ts';
import { json, pageOf, queryOf } from './stored-response-answers.ts';

const path_length = '/v1/conversations'.length;
/** Items that a request may add, as at OpenAI. */
const max_items = 20;

type Body = () => Promise<Json>;

/** Answers requests for conversations, each for its own account's alone. */
export class ConversationAnswers {
  readonly #continued: ContinuedRequests;

  constructor(continued: ContinuedRequests) {
    this.#continued = continued;
  }

  /** The answer to a request; throws 404 for what the account does not have. */
  async answer({ path, method, account, incoming }: Exchange, body: Body): Promise<CatalogAnswer> {
    const [, id, part, ...more] = path.slice(path_length).split('/').map(decodePath);
    if (more.length > 0 || (part !== undefined && part !== 'items')) throw refusal('unknown_url');
    if (!account || this.#continued.archive.ttlMs(account.id) === 0) throw noConversation(id ?? '');
    const { conversations } = this.#continued;
    if (id === undefined) return json(await this.#created(account.id, await body()));
    if (part === 'items') return json(await this.#items(account.id, id, method, queryOf(incoming), body));
    if (method === 'POST') return json(await conversations.change(account.id, id, metadataIn(await body())));
    if (method === 'GET') return json((await conversations.find(account.id, id)).response);
    await conversations.delete(account.id, id);
    return json({ id, object: 'conversation.deleted', deleted: true });
  }

  async #created(account: string, body: Json): Promise<object> {
    const items = itemsIn(body);
    const created = await this.#continued.conversations.create(account, metadataIn(body));
    if (items.length > 0) await this.#continued.conversations.addItems(account, String(created.id), items);
    return created;
  }

  async #items(account: string, id: string, method: string, query: URLSearchParams, body: Body) {
    if (method === 'GET') return pageOf(await this.#continued.itemsOfConversation(account, id), query);
    if (method !== 'POST') throw refusal('method_not_allowed', { headers: { allow: 'GET, POST' } });
    const added = await this.#continued.conversations.addItems(account, id, itemsIn(await body()));
    const data = added.map(listedItem);
    const [first_id, last_id] = [data[0]?.id ?? null, data.at(-1)?.id ?? null];
    return { object: 'list', data, first_id, last_id, has_more: false };
  }
}

/** The items of a body, which may be none; throws 400 for what the model could not be shown. */
function itemsIn({ items }: Json): StoredItem[] {
  if (items == null) return [];
  if (!Array.isArray(items) || items.length > max_items)
    throw invalidField('items', `must be an array of at most ${max_items} items.`);
  for (const given of items) parseBody(item, given);
  return itemsOf({ input: items });
}

function metadataIn({ metadata = {} }: Json): Json {
  const found = metadata ?? {};
  if (!isObject(found) || !Object.values(found).every(value => typeof value === 'string'))
    throw invalidField('metadata', 'must be an object of strings.');
  return parseBody(requestFields.anyObject, found);
}
