import { randomBytes } from 'node:crypto';
import type { Json } from '../../../../src/plugin.ts';
import type { KeptResponse, NewResponse, ResponseArchive } from './response-archive.ts';
import { noConversation, storeDown } from './store-errors.ts';
import { type StoredItem, withIds } from './stored-items.ts';

/** How often a member is added anew because another one came first. */
const max_tries = 10;

/** Conversations: chains of responses and of items, the newest of which is the parent of a record of their own. */
export class Conversations {
  readonly #archive: ResponseArchive;

  constructor(archive: ResponseArchive) {
    this.#archive = archive;
  }

  async create(account: string, metadata: Json): Promise<Json> {
    const created_at = Math.floor(this.#archive.now_ms / 1000);
    const id = `conv_${randomBytes(16).toString('hex')}`;
    const conversation = { id, object: 'conversation', created_at, metadata };
    const response = JSON.stringify(conversation);
    const isStored = await this.#archive.put({ ...memberOf(account, id, created_at), response });
    if (!isStored) throw storeDown(new Error('a conversation could not be stored'));
    return conversation;
  }

  /** Throws 404 for one that the account does not have. */
  async find(account: string, id: string): Promise<KeptResponse> {
    const [found] = id.startsWith('conv_') ? await this.#archive.lookUp(account, [id]) : [];
    if (!found) throw noConversation(id);
    return found;
  }

  /** Its members, the oldest first. */
  async members(account: string, id: string): Promise<KeptResponse[]> {
    const { parent } = await this.find(account, id);
    return parent === null ? [] : this.#archive.chain(account, parent);
  }

  /** Adds a response, behind whatever was added meanwhile; false if that fails. */
  async add(id: string, member: NewResponse): Promise<boolean> {
    for (let tries = 0; tries < max_tries; tries++) {
      const conversation = await this.find(member.account, id);
      const { parent } = conversation;
      const [head] = parent === null ? [] : await this.#archive.lookUp(member.account, [parent]);
      if (!(await this.#archive.put({ ...member, parent: head }))) return false;
      if (await this.#archive.advance(member.account, conversation, member.id)) return true;
    }
    return false;
  }

  /** Adds items, and returns them with their ids. */
  async addItems(account: string, id: string, items: readonly StoredItem[]): Promise<StoredItem[]> {
    const key = randomBytes(16).toString('hex');
    const input = withIds(items, key);
    const created_at = Math.floor(this.#archive.now_ms / 1000);
    const member = { ...memberOf(account, `resp_${key}`, created_at), input, response: '{"output":[]}' };
    if (!(await this.add(id, member))) throw storeDown(new Error('items could not be stored'));
    return input;
  }

  async change(account: string, id: string, metadata: Json): Promise<Json> {
    const found = await this.find(account, id);
    const response = { ...found.response, metadata };
    if (!(await this.#archive.advance(account, { ...found, response }, found.parent)))
      return this.change(account, id, metadata);
    return response;
  }

  async delete(account: string, id: string): Promise<void> {
    await this.find(account, id);
    await this.#archive.delete(account, id);
  }
}

const memberOf = (account: string, id: string, created_at: number) => ({
  id,
  account,
  parent: undefined,
  created_ms: created_at * 1000,
  input: [],
  outputs: 0,
});
