import {
  fieldPath,
  type Identity,
  invalidField,
  isObject,
  type Json,
  shown,
} from '../../../../src/plugin.ts';
import { messageOf } from '../plain-summary.ts';
import { BackgroundRun } from './background-run.ts';
import { Conversations } from './conversations.ts';
import type { KeptResponse, NewResponse, ResponseArchive } from './response-archive.ts';
import { noPrevious, storeDown } from './store-errors.ts';
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
  /** Id of the conversation to which it belongs. */
  readonly conversation: string | undefined;
  /** Set if the client does not wait for its response. */
  readonly background?: { readonly wantsStream: boolean };
  /** Of the response, once a client has been told of it. */
  identity?: Identity;
  /** What generates it without its client. */
  run?: BackgroundRun;
  /** True once its response, as it is at the end, was given to be stored. */
  isKept?: boolean;
}

/** Completes requests with what they continue, and stores their responses. */
export class ContinuedRequests {
  readonly archive: ResponseArchive;
  readonly conversations: Conversations;
  /** By the bodies that go to `parse`. */
  readonly #turns = new WeakMap<object, Turn>();

  constructor(archive: ResponseArchive) {
    this.archive = archive;
    this.conversations = new Conversations(archive);
  }

  /** The turn of a completed body. */
  turnOf(body: object): Turn | undefined {
    return this.#turns.get(body);
  }

  /** The body with all that its request continues; undefined if it is whole. */
  complete(body: Json, account: string | undefined): Promise<Json> | undefined {
    const { previous_response_id: previous, conversation, store, background } = body;
    const input = itemsOf(body);
    const refers = input.some(item => referenceIn(item) !== undefined || item.type === 'compaction');
    if ((previous ?? conversation) != null || refers || background === true)
      return this.#completed(body, input, account);
    if (account === undefined || store === false || this.archive.ttlMs(account) === 0) return undefined;
    const alone = { parent: undefined, conversation: undefined, replayed: [] };
    this.#turns.set(body, { ...alone, account, input, isStored: true });
    return undefined;
  }

  async #completed(body: Json, input: readonly StoredItem[], account: string | undefined): Promise<Json> {
    const { previous_response_id: previous, conversation: given, ...rest } = body;
    const background = body.background === true ? { wantsStream: body.stream === true } : undefined;
    const conversation = conversationIn(given);
    if (conversation !== undefined && previous != null)
      throw invalidField('conversation', 'must not be sent together with previous_response_id.');
    const chain =
      conversation === undefined
        ? await this.#chain(previous, account)
        : await this.conversations.members(account ?? '', conversation);
    const parent = chain.at(-1);
    this.#checkLength(parent, input);
    const [replayed, own] = await this.#resolved([itemsIn(chain), input], account);
    const completed: Json = Array.isArray(rest.input) ? { ...rest, input: own } : rest;
    const isStored = account !== undefined && body.store !== false && this.archive.ttlMs(account) > 0;
    if (background && !isStored)
      throw invalidField('background', 'needs a response that is stored; leave out store: false.');
    // Its events are for clients that follow it later.
    if (background) Object.assign(completed, { background: false, stream: true });
    const turn = { account: account ?? '', parent, conversation, replayed: replayed!, input, isStored };
    this.#turns.set(completed, background ? { ...turn, background } : turn);
    return completed;
  }

  async #chain(previous: unknown, account: string | undefined): Promise<KeptResponse[]> {
    if (previous == null) return [];
    if (typeof previous !== 'string' || previous === '')
      throw invalidField('previous_response_id', `must be the id of a response, not ${shown(previous)}`);
    if (account === undefined || !previous.startsWith('resp_')) throw noPrevious(previous);
    return this.archive.chain(account, previous);
  }

  #checkLength(parent: KeptResponse | undefined, input: readonly StoredItem[]): void {
    const { max_chain_items, max_chain_bytes } = this.archive.options;
    if (!parent) return;
    if (isUnfinished(parent.response))
      throw invalidField('previous_response_id', 'is a response that is not finished yet.');
    const isTooLong =
      parent.chain_items + input.length > max_chain_items || parent.chain_bytes > max_chain_bytes;
    if (isTooLong)
      throw invalidField(
        'previous_response_id',
        `continues more than ${max_chain_items} items or ${max_chain_bytes} bytes; send what the model needs as input.`,
      );
  }

  /** Lists of items with those for which some of them stand, and summaries in words. The last list is the request's own. */
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
        if (found) return this.#readable(found, account);
        const field = list === last ? fieldPath(['input', at, 'id']) : 'previous_response_id';
        throw invalidField(field, `there is no item with the id ${shown(id)}.`);
      }),
    );
  }

  /** A summary that was made here as a message; any other item as it is. */
  #readable(item: StoredItem, account = ''): StoredItem {
    if (item.type !== 'compaction') return item;
    const summary = this.archive.unseal(account, item.encrypted_content);
    return summary === undefined ? item : { type: 'message', ...messageOf(summary) };
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

  /** Begins a response that is generated without its client, which `stop` ends early. Throws 429 above the limit, and 503 if it cannot be stored. */
  async begin(
    turn: Turn,
    identity: Identity,
    response: string,
    stop: (why: 'client_gone' | 'time_limit') => void,
  ): Promise<BackgroundRun> {
    const { max_background, background_timeout_ms, max_response_bytes } = this.archive.options;
    const { runs } = this.archive;
    runs.admit(turn.account, max_background);
    const start = { id: `resp_${identity.key}`, account: turn.account, response };
    const limits = { timeout_ms: background_timeout_ms, max_bytes: max_response_bytes };
    const run = new BackgroundRun(start, limits, stop);
    runs.add(run);
    if (await this.archive.put(responseOf(turn, identity, response, 0))) return run;
    run.end();
    throw storeDown(new Error('a response to be generated in the background could not be stored'));
  }

  /** Stores another state of a response that has no output. Throws 503 if that fails. */
  async replace(found: KeptResponse, account: string, response: string): Promise<void> {
    const { id, parent, input, chain_items, chain_bytes, own_bytes } = found;
    const before = parent === null ? undefined : { id: parent, chain_items: chain_items - input.length };
    const isStored = await this.archive.put({
      id,
      account,
      parent: before && { ...before, chain_bytes: chain_bytes - own_bytes },
      created_ms: Number(found.response.created_at) * 1000,
      input,
      response,
      outputs: 0,
    });
    if (!isStored) throw storeDown(new Error('the new state of a response could not be stored'));
  }

  /** Stores the response of a turn. Afterwards `isStored` says whether that has succeeded. */
  async keep(turn: Turn, identity: Identity, response: string, outputs: number): Promise<void> {
    const made = responseOf(turn, identity, response, outputs);
    const { conversation } = turn;
    turn.isStored = await (conversation === undefined
      ? this.archive.put(made)
      : this.conversations.add(conversation, made).catch(() => false));
  }

  /** The items of a conversation. */
  async itemsOfConversation(account: string, id: string): Promise<StoredItem[]> {
    const [items] = await this.#resolved([itemsIn(await this.conversations.members(account, id))], account);
    return items!;
  }
}

/** What is to be stored of the response of a turn. */
const responseOf = (
  { account, parent, input }: Turn,
  { key, created }: Identity,
  response: string,
  outputs: number,
): NewResponse => ({
  id: `resp_${key}`,
  account,
  parent,
  created_ms: created * 1000,
  input: withIds(input, key),
  response,
  outputs,
});

/** The id in the field `conversation`. */
function conversationIn(given: unknown): string | undefined {
  if (given == null) return undefined;
  const id = isObject(given) ? given.id : given;
  if (typeof id === 'string' && id !== '') return id;
  throw invalidField(
    'conversation',
    `must be the id of a conversation, or an object {id}, not ${shown(given)}`,
  );
}

/** Whether a response is still to be generated. */
export const isUnfinished = ({ status }: Json): boolean => status === 'queued' || status === 'in_progress';

/** Input and output of a chain, in order. */
const itemsIn = (chain: readonly KeptResponse[]): StoredItem[] =>
  chain.flatMap(({ input, response }) => [...input, ...outputOf(response)]);

/** Items of a response's output. */
const outputOf = ({ output }: Json): StoredItem[] =>
  Array.isArray(output) ? (output.filter(isObject) as StoredItem[]) : [];
