import {
  type DialectGateway,
  day_ms,
  isObject,
  isOutage,
  type Json,
  type StoredResponse,
  type StoredResponses,
  within,
} from '../../../../src/plugin.ts';
import { BackgroundRuns } from './background-runs.ts';
import { ContentCipher } from './content-cipher.ts';
import { noPrevious, storeDown } from './store-errors.ts';
import type { StoreOptions } from './store-options.ts';
import type { StoredItem } from './stored-items.ts';

/** How long a reply waits until its response is stored. */
const patience_ms = 3000;
/** Time between two lines of the log. */
const line_ms = 10_000;

/** A stored response, decrypted. */
export interface KeptResponse {
  readonly id: string;
  readonly parent: string | null;
  readonly chain_items: number;
  readonly chain_bytes: number;
  /** Length of it alone. */
  readonly own_bytes: number;
  /** Its own input, without what it continues. */
  readonly input: readonly StoredItem[];
  /** As its client got it. */
  readonly response: Json;
}

/** What is to be stored of a response. */
export interface NewResponse {
  readonly id: string;
  readonly account: string;
  readonly parent: Pick<KeptResponse, 'id' | 'chain_items' | 'chain_bytes'> | undefined;
  readonly created_ms: number;
  readonly input: readonly StoredItem[];
  /** JSON. */
  readonly response: string;
  /** Items of its output. */
  readonly outputs: number;
}

/** What it uses of its gateway. */
type ArchiveGateway = Pick<DialectGateway, 'clock' | 'log' | 'responses'>;

/** The stored responses of accounts, encrypted under the secrets of the configuration. */
export class ResponseArchive {
  readonly options: StoreOptions;
  /** Those that are being generated here without their clients. */
  readonly runs: BackgroundRuns;
  readonly #responses: StoredResponses;
  readonly #gateway: ArchiveGateway;
  readonly #cipher: ContentCipher;
  #logged_ms = -Infinity;

  constructor(options: StoreOptions, gateway: ArchiveGateway) {
    if (!gateway.responses)
      throw new Error('responses.store: the records store that stores.records names keeps no responses');
    this.options = options;
    this.#responses = gateway.responses;
    this.runs = BackgroundRuns.of(gateway.responses);
    this.#gateway = gateway;
    this.#cipher = new ContentCipher(options.keys);
  }

  /** Unix milliseconds. */
  get now_ms(): number {
    return this.#gateway.clock.epoch_ms();
  }

  /** A summary as the `encrypted_content` of an item, which only this account can send back. */
  seal(account: string, summary: string): string {
    return this.#cipher.encrypt(summary, boundTo(account, 'compaction'));
  }

  /** The summary in such a content; undefined if it was not made here, or for another account. */
  unseal(account: string, content: unknown): string | undefined {
    return typeof content === 'string'
      ? this.#cipher.decrypt(content, boundTo(account, 'compaction'))
      : undefined;
  }

  /** How long responses of an account are kept; 0 for not at all. */
  ttlMs(account: string): number {
    const { ttl_days, per_account = {} } = this.options;
    return day_ms * (Object.hasOwn(per_account, account) ? per_account[account]! : ttl_days);
  }

  /** Stores a response; false, with a line in the log, if that fails or would exceed a limit. Never rejects. */
  async put({ id, account, parent, created_ms, input, response, outputs }: NewResponse): Promise<boolean> {
    const text = `{"input":${JSON.stringify(input)},"response":${response}}`;
    const { max_response_bytes } = this.options;
    if (text.length > max_response_bytes || Buffer.byteLength(text) > max_response_bytes) return false;
    const content = this.#cipher.encrypt(text, boundTo(account, id));
    const row: StoredResponse = {
      id,
      account,
      parent: parent?.id ?? null,
      created_ms,
      expires_ms: created_ms + this.ttlMs(account),
      chain_items: (parent?.chain_items ?? 0) + input.length + outputs,
      chain_bytes: (parent?.chain_bytes ?? 0) + content.length,
      content,
    };
    try {
      await within(this.#responses.put(row), patience_ms, () => new Error(`not within ${patience_ms} ms`));
      return true;
    } catch (err) {
      if (this.#isLineDue())
        this.#gateway.log.warn(
          { err, response_id: id },
          'failed to store a response, whose reply says store: false',
        );
      return false;
    }
  }

  /** Writes a conversation whose newest member is `head`; false if it has another than before, or is gone. */
  advance(account: string, { id, parent, response }: KeptResponse, head: string | null): Promise<boolean> {
    const created_ms = Number(response.created_at) * 1000;
    const text = JSON.stringify({ input: [], response });
    const row: StoredResponse = {
      ...{ id, account, parent: head, created_ms, chain_items: 0, chain_bytes: 0 },
      expires_ms: created_ms + this.ttlMs(account),
      content: this.#cipher.encrypt(text, boundTo(account, id)),
    };
    return asked(() => this.#responses.put(row, parent));
  }

  /** The responses of these ids that the account has, in no order. */
  async lookUp(account: string, ids: readonly string[]): Promise<KeptResponse[]> {
    const rows = await asked(() => this.#responses.lookUp(account, ids, this.now_ms));
    return rows.flatMap(row => this.#decrypted(row) ?? []);
  }

  /** The response `id` and all that it continues, the first one first. Throws 400 if one of them is not there any longer. */
  async chain(account: string, id: string): Promise<KeptResponse[]> {
    const { now_ms } = this;
    const { max_chain_items } = this.options;
    const rows = await asked(() => this.#responses.chain(account, id, now_ms, max_chain_items + 1));
    let missing: string | null = id;
    const kept: KeptResponse[] = [];
    for (const row of rows.reverse()) {
      const one: KeptResponse | undefined = row.id === missing ? this.#decrypted(row) : undefined;
      if (!one) break;
      kept.push(one);
      missing = one.parent;
    }
    if (missing !== null) throw noPrevious(missing);
    return kept.reverse();
  }

  /** False if the account has none of this id. */
  delete(account: string, id: string): Promise<boolean> {
    return asked(() => this.#responses.delete(account, id));
  }

  #decrypted(row: StoredResponse): KeptResponse | undefined {
    const text = this.#cipher.decrypt(row.content, boundTo(row.account, row.id));
    const read: unknown = text === undefined ? undefined : JSON.parse(text);
    if (isObject(read))
      return { ...row, own_bytes: row.content.length, ...(read as Pick<KeptResponse, 'input' | 'response'>) };
    if (this.#isLineDue())
      this.#gateway.log.warn({ response_id: row.id }, 'failed to decrypt a stored response');
    return undefined;
  }

  #isLineDue(): boolean {
    const now_ms = this.#gateway.clock.elapsed_ms();
    if (now_ms - this.#logged_ms < line_ms) return false;
    this.#logged_ms = now_ms;
    return true;
  }
}

/** What an encrypted content belongs to; no id has a line break. */
const boundTo = (account: string, id: string): string => `${id}\n${account}`;

/** What the store answers; 503 while it does not. */
async function asked<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (thrown) {
    throw isOutage(thrown) ? storeDown(thrown) : thrown;
  }
}
