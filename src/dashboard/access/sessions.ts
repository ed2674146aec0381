import { randomBytes } from 'node:crypto';
import type { Clock } from '../../clock.ts';
import { hashKey } from '../../stores/accounts/hash-key.ts';
import { IssuedKeys } from './issued-keys.ts';

/** The session of a signed-in operator. */
export interface Session {
  /** The operator's name in the audit log. */
  readonly actor: string;
  readonly started_ms: number;
  seen_ms: number;
  /** Message shown once, on the page after a form. */
  notice?: string | undefined;
  /** The keys issued in it, until they have been shown. */
  readonly issued: IssuedKeys;
}

interface SessionLimits {
  /** Idle timeout of a session. */
  readonly idle_ms: number;
  /** Maximum lifetime of a session. */
  readonly max_ms: number;
}

/** Sessions above which the least recently used one ends. */
const max_sessions = 1000;

/** Sessions of this process by the SHA-256 of their tokens; lost when the process ends. */
export class Sessions {
  readonly #clock: Clock;
  readonly #limits: SessionLimits;
  /** Least recently used first. */
  readonly #byDigest = new Map<string, Session>();

  constructor(clock: Clock, limits: SessionLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Starts a session. `token` is for the browser and stored nowhere else. */
  start(actor: string): { readonly token: string; readonly session: Session } {
    const token = randomBytes(32).toString('base64url');
    const now_ms = this.#clock.epoch_ms();
    const session = { actor, started_ms: now_ms, seen_ms: now_ms, issued: new IssuedKeys() };
    if (this.#byDigest.size >= max_sessions) this.#byDigest.delete(this.#byDigest.keys().next().value!);
    this.#byDigest.set(hashKey(token), session);
    return { token, session };
  }

  /** Session of a token, whose idle time restarts; undefined if expired. */
  find(token: string): Session | undefined {
    const session = this.look(token);
    if (!session) return undefined;
    this.end(token);
    session.seen_ms = this.#clock.epoch_ms();
    this.#byDigest.set(hashKey(token), session);
    return session;
  }

  /** Session of a token, for requests that a page makes by itself, which do not restart its idle time. */
  look(token: string): Session | undefined {
    const session = this.#byDigest.get(hashKey(token));
    if (!session) return undefined;
    const now_ms = this.#clock.epoch_ms();
    const isIdle = now_ms - session.seen_ms >= this.#limits.idle_ms;
    if (!isIdle && now_ms - session.started_ms < this.#limits.max_ms) return session;
    this.end(token);
    return undefined;
  }

  end(token: string): void {
    this.#byDigest.delete(hashKey(token));
  }
}
