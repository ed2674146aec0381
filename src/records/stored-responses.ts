/** A response that is kept for its account. */
export interface StoredResponse {
  /** Its id, which no other response has. */
  readonly id: string;
  /** Name of the account, which alone may read it. */
  readonly account: string;
  /** The response that it continues; `null` for the first of a chain. */
  readonly parent: string | null;
  /** Unix milliseconds at which it began. */
  readonly created_ms: number;
  /** Unix milliseconds from which on it is not found any longer. */
  readonly expires_ms: number;
  /** Items of the chain up to this response, its own included. */
  readonly chain_items: number;
  /** Length of `content`, together with those of the responses before it. */
  readonly chain_bytes: number;
  /** Encrypted: nothing of it can be searched. */
  readonly content: string;
}

/** The responses of all instances. */
export interface StoredResponses {
  /** Writes a response, in place of one of the same id and account. With `before` only in place of one with that parent; false if there is none. */
  put(response: StoredResponse, before?: string | null): Promise<boolean>;
  /** Those of these ids that are the account's and have not expired at `now_ms`, in no order. */
  lookUp(account: string, ids: readonly string[], now_ms: number): Promise<StoredResponse[]>;
  /**
   * The response `id` with those before it, the first of the chain first; the last `limit` of them. Ends where one is missing, and is empty
   * without `id` itself.
   */
  chain(account: string, id: string, now_ms: number, limit: number): Promise<StoredResponse[]>;
  /** Deletes one; false if the account has none of this id. */
  delete(account: string, id: string): Promise<boolean>;
}
