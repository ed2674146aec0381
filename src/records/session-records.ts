/** A session of a person at the dashboard or the portal. */
export interface SessionRecord {
  /** Hash of its token, which only the browser has. */
  readonly digest: string;
  /** Name of the person. */
  readonly actor: string;
  /** What the person may do. */
  readonly role: string;
  /** The customer's account; empty for all others. */
  readonly account: string;
  /** Proof of what the person signed in with, keyed by the token; empty if others vouch for the person with every request. */
  readonly proof: string;
  /** Unix milliseconds at which it began. */
  readonly started_ms: number;
  /** Unix milliseconds at which it was used last. */
  readonly seen_ms: number;
}

/** Before these times sessions have ended: those that began, and those that were last used. */
export interface SessionEnds {
  /** Unix milliseconds at which it began. */
  readonly started_ms: number;
  /** Unix milliseconds at which it was used last. */
  readonly seen_ms: number;
}

/** The sessions of all instances. */
export interface SessionRecords {
  /** Writes a new session, and deletes those of the same area that have ended. */
  start(session: SessionRecord, ended: SessionEnds): Promise<unknown>;
  /** The one of this id; undefined if there is none. */
  find(digest: string): Promise<SessionRecord | undefined>;
  /** Notes that a session is used; never sets its time back. */
  seen(digest: string, at_ms: number): Promise<unknown>;
  /** Ends one session, or those of a customer's account. */
  end(which: {
    readonly digest?: string;
    readonly actor?: string;
    readonly account?: string;
  }): Promise<unknown>;
}
