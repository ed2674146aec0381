import type { EndReason } from '../common/end-class.ts';

/** What tells a running exchange from others. Clients choose the id, so that two that began in the same millisecond may be alike. */
export interface RunningPlace {
  /** Id of the request. */
  readonly request_id: string;
  /** When it began, in Unix milliseconds. */
  readonly started_ms: number;
}

/** An exchange that has begun and is not settled, as it is now. */
export interface RunningExchange extends RunningPlace {
  /** Name of its endpoint. */
  readonly endpoint: string;
  /** Id of the account; undefined without one, or while it is not known. */
  readonly account: string | undefined;
  /** Id of the key, if it is one of the records store. */
  readonly key_id: string | undefined;
  /** Catalog id, or what the client has asked for; undefined until the body was read. */
  readonly model: string | undefined;
  /** Provider of the last attempt; undefined before the first. */
  readonly provider: string | undefined;
  /** Attempts so far. */
  readonly attempts: number;
  /** Whether a stream was asked for; undefined until the body was read. */
  readonly stream: boolean | undefined;
  /** Tokens generated so far, as far as they are known or estimated: 0 until a whole reply has come. */
  readonly completion_tokens: number;
  /** Why it will end; undefined while nothing has gone wrong. A reply may be read on for the bill. */
  readonly end_reason: EndReason | undefined;
}

/** The exchanges of all processes of a server. */
export interface RunningExchanges {
  /** Those that run, the longest first, at most `limit`. Resolves in about a second at most. */
  list(limit: number): Promise<readonly RunningExchange[]>;
  /**
   * Ends those at `place` as `cancelled`: clients get an error, or an error event where a stream has begun, and pay for what has arrived.
   * Resolves in about a second at most, with whether any was there.
   */
  cancel(place: RunningPlace): Promise<boolean>;
}
