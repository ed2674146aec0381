import {
  fieldPath,
  type Identity,
  invalidField,
  isObject,
  type Json,
  shown,
} from '../../../../src/plugin.ts';
import type { KeptResponse, ResponseArchive } from './response-archive.ts';
import { noPrevious } from './store-errors.ts';
import { itemsOf, referenceIn, responseOfItem, type StoredItem, withIds } from './stored-items.ts';

/** Responses that are read at once for the items that a request names. */
const read_at_once = 10;

/** A request as a part of a chain of stored responses. */
export interface Turn {
  readonly account: string;
  /** The response that it continues. */
  readonly parent: KeptResponse | undefined;
  /** The items before its own. */
  readonly replayed: readonly StoredItem[];
  /** Its own items, as they were sent: those that stand for others are stored as they are, so that nothing is stored twice. */
  readonly input: readonly StoredItem[];
  /** Whether its response is stored; false from when that has failed. */
  isStored: boolean;
}

/** Completes requests with what they continue, and stores their responses. */
export class ContinuedRequests {
  readonly archive: ResponseArchive;
  /** By the bodies that go to `parse`. */
  readonly #turns = new WeakMap<object, Turn>();

  constructor(archive: ResponseArchive) {
    this.archive = archive;
  }

  /** The turn of a completed body. */
  turnOf(body: object): Turn | undefined {
    return this.#turns.get(body);
  }

  /** The body with all that its request continues; undefined if it is whole. */
  complete(body: Json, account: string | undefined): Promise<Json> | undefined {
    const { previous_response_id: previous, store } = body;
    const input = itemsOf(body);
    const refers = input.some(item => referenceIn(item) !== undefined);
    if (previous != null || refers) return this.#completed(body, input, account);
    if (account === undefined || store === false || this.archive.ttlMs(account) === 0) return undefined;
    this.#turns.set(body, { account, parent: undefined, replayed: [], input, isStored: true });
    return undefined;
  }

  async #completed(body: Json, input: readonly StoredItem[], account: string | undefined): Promise<Json> {
    const { previous_response_id: previous, ...rest } = body;
    if (previous != null && (typeof previous !== 'string' || previous === ''))
      throw invalidField('previous_response_id', `must be the id of a response, not ${shown(previous)}`);
    if (account === undefined && previous != null) throw noPrevious(previous);
    const chain = previous == null ? [] : await this.archive.chain(account!, previous);
    const parent = chain.at(-1);
    this.#checkLength(parent, input);
    const [replayed, own] = await this.#resolved([itemsIn(chain), input], account);
    const completed = Array.isArray(rest.input) ? { ...rest, input: own } : rest;
    const isStored = account !== undefined && body.store !== false && this.archive.ttlMs(account) > 0;
    this.#turns.set(completed, { account: account ?? '', parent, replayed: replayed!, input, isStored });
    return completed;
  }

  #checkLength(parent: KeptResponse | undefined, input: readonly StoredItem[]): void {
    const { max_chain_items, max_chain_bytes } = this.archive.options;
    if (!parent) return;
    const isTooLong =
      parent.chain_items + input.length > max_chain_items || parent.chain_bytes > max_chain_bytes;
    if (isTooLong)
      throw invalidField(
        'previous_response_id',
        `continues more than ${max_chain_items} items or ${max_chain_bytes} bytes; send what the model needs as input.`,
      );
  }

  /** Lists of items with those for which some of them stand. The last list is the request's own. */
  async #resolved(lists: readonly (readonly StoredItem[])[], account: string | undefined) {
    const known = new Map<unknown, StoredItem>();
    const add = (items: readonly StoredItem[]) => {
      for (const item of items) if (referenceIn(item) === undefined) known.set(item.id, item);
    };
    for (const items of lists) add(items);
    const ids = lists.flatMap(items => items.flatMap(item => referenceIn(item) ?? []));
    if (account !== undefined) await this.#lookUp(ids, account, known, add);
    const last = lists.length - 1;
    return lists.map((items, list) =>
      items.map((item, at) => {
        const id = referenceIn(item);
        const found = id === undefined ? item : known.get(id);
        if (found) return found;
        const field = list === last ? fieldPath(['input', at, 'id']) : 'previous_response_id';
        throw invalidField(field, `there is no item with the id ${shown(id)}.`);
      }),
    );
  }

  /** Adds the items of all responses that the ids in question name, within the limits of a chain. */
  async #lookUp(
    ids: readonly string[],
    account: string,
    known: ReadonlyMap<unknown, StoredItem>,
    add: (items: readonly StoredItem[]) => void,
  ): Promise<void> {
    const { max_chain_items, max_chain_bytes } = this.archive.options;
    const missing = ids.filter(id => !known.has(id));
    const responses = [...new Set(missing.flatMap(id => responseOfItem(id) ?? []))];
    if (responses.length > max_chain_items)
      throw invalidField('input', `refers to items of more than ${max_chain_items} responses.`);
    let left_bytes = max_chain_bytes;
    for (let at = 0; at < responses.length; at += read_at_once) {
      for (const { input, response, own_bytes } of await this.archive.lookUp(
        account,
        responses.slice(at, at + read_at_once),
      )) {
        left_bytes -= own_bytes;
        add(input);
        add(outputOf(response));
      }
      if (left_bytes < 0) throw invalidField('input', `refers to more than ${max_chain_bytes} bytes.`);
    }
  }

  /** The items from which a response was made: all that it continues, and its own input. */
  async inputOf(response: KeptResponse, account: string): Promise<StoredItem[]> {
    const chain = response.parent === null ? [] : await this.archive.chain(account, response.parent);
    const [replayed, own] = await this.#resolved([itemsIn(chain), response.input], account);
    return [...replayed!, ...own!];
  }

  /** Stores the response of a turn. Afterwards `isStored` says whether that has succeeded. */
  async keep(turn: Turn, { key, created }: Identity, response: string, outputs: number): Promise<void> {
    const { account, parent } = turn;
    turn.isStored = await this.archive.put({
      id: `resp_${key}`,
      account,
      parent,
      created_ms: created * 1000,
      input: withIds(turn.input, key),
      response,
      outputs,
    });
  }
}

/** Input and output of a chain, in order. */
const itemsIn = (chain: readonly KeptResponse[]): StoredItem[] =>
  chain.flatMap(({ input, response }) => [...input, ...outputOf(response)]);

/** Items of a response's output. */
const outputOf = ({ output }: Json): StoredItem[] =>
  Array.isArray(output) ? (output.filter(isObject) as StoredItem[]) : [];
