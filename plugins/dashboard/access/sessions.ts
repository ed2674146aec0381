import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import QuickLRU from 'quick-lru';
import type { SessionRecords } from '../../../src/plugin.ts';
import { type Clock, hashKey, isOutage, type SessionRecord } from '../../../src/plugin.ts';
import { IssuedKeys } from './issued-keys.ts';
import type { Person, Role } from './roles.ts';

/** The session of a signed-in person. */
export interface Session extends Person {
  readonly started_ms: number;
  /** The keys that this process has issued in it. */
  readonly issued: IssuedKeys;
}

interface SessionLimits {
  /** Idle timeout of a session. */
  readonly idle_ms: number;
  /** Maximum lifetime of a session. */
  readonly max_ms: number;
}

interface SessionsSetup {
  readonly records: SessionRecords;
  readonly clock: Clock;
  readonly limits: SessionLimits;
  /** Where they are valid: a token of the dashboard is none of the portal. */
  readonly area: string;
  /** What is known of them without the store; by default nothing yet. */
  readonly known?: QuickLRU<string, KnownSession>;
}

/** Sessions that are known without the store, for as long as it is down; twice as many at most. */
export const remembered = { maxSize: 500 };
/** A use is written at most this often. */
const max_unwritten_ms = 60_000;

/** As the store has it, or would if it had not been down. */
export interface KnownSession {
  readonly record: SessionRecord;
  readonly isWritten: boolean;
  readonly issued: IssuedKeys;
}

/** Sessions in the records store, by the SHA-256 of their tokens: they survive a restart, and hold at all instances. */
export class Sessions {
  readonly #setup: SessionsSetup;
  readonly #known: QuickLRU<string, KnownSession>;

  constructor(setup: SessionsSetup) {
    this.#setup = setup;
    this.#known = setup.known ?? new QuickLRU(remembered);
  }

  /**
   * Starts a session. `token` is for the browser and stored nowhere else. `credential` is what the person signed in with, to be compared
   * later. While the store is down the session is known to this process only.
   */
  async start(
    { actor, role, account = '' }: Person,
    credential = '',
  ): Promise<{ readonly token: string; readonly session: Session }> {
    const { records, clock, limits } = this.#setup;
    const token = randomBytes(32).toString('base64url');
    const now_ms = clock.epoch_ms();
    const digest = this.#digestOf(token);
    const proof = credential && proofOf(token, credential);
    const record = { digest, actor, role, account, proof, started_ms: now_ms, seen_ms: now_ms };
    const ended = { started_ms: now_ms - limits.max_ms, seen_ms: now_ms - limits.idle_ms };
    const isWritten = await isDone(records.start(record, ended));
    const known = { record, isWritten, issued: new IssuedKeys() };
    this.#known.set(digest, known);
    return { token, session: sessionOf(known) };
  }

  /** Session of a token; undefined if it has ended. Its idle time restarts, unless the page asks `byItself`. */
  async find(token: string, byItself = false): Promise<Session | undefined> {
    const digest = this.#digestOf(token);
    const known = await this.#read(digest);
    if (!known) return undefined;
    const { clock, limits, records } = this.#setup;
    const now_ms = clock.epoch_ms();
    const { record } = known;
    const idle_ms = now_ms - record.seen_ms;
    if (idle_ms >= limits.idle_ms || now_ms - record.started_ms >= limits.max_ms) {
      this.#known.delete(digest);
      return undefined;
    }
    if (!byItself && idle_ms >= Math.min(max_unwritten_ms, limits.idle_ms / 10)) {
      await isDone(records.seen(digest, now_ms));
      this.#known.set(digest, { ...known, record: { ...record, seen_ms: now_ms } });
    }
    return sessionOf(known);
  }

  /** Whether `find` gave a session that was started with this credential. */
  isStartedWith(token: string, credential: string): boolean {
    const proof = Buffer.from(this.#known.get(this.#digestOf(token))?.record.proof ?? '');
    const expected = Buffer.from(proofOf(token, credential));
    return expected.length === proof.length && timingSafeEqual(expected, proof);
  }

  /** Ends a session at all instances. Rejects while the store is down. */
  async end(token: string): Promise<void> {
    const digest = this.#digestOf(token);
    const isWritten = this.#known.get(digest)?.isWritten ?? true;
    this.#known.delete(digest);
    if (isWritten) await this.#setup.records.end({ digest });
  }

  /** Ends all sessions of a customer at all instances. */
  async endAll({ actor, account }: Person): Promise<void> {
    if (account) await this.#setup.records.end({ actor, account });
  }

  /** As the store has it; while that is down, as this process has seen it last. */
  async #read(digest: string): Promise<KnownSession | undefined> {
    const before = this.#known.get(digest);
    if (before && !before.isWritten) return before;
    try {
      const record = await this.#setup.records.find(digest);
      if (!record) return void this.#known.delete(digest);
      const known = { record, isWritten: true, issued: before?.issued ?? new IssuedKeys() };
      this.#known.set(digest, known);
      return known;
    } catch (thrown) {
      if (before && isOutage(thrown)) return before;
      throw thrown;
    }
  }

  #digestOf(token: string): string {
    return hashKey(`${this.#setup.area} ${token}`);
  }
}

/** False if the store is down. */
async function isDone(written: Promise<unknown>): Promise<boolean> {
  try {
    await written;
    return true;
  } catch (thrown) {
    if (isOutage(thrown)) return false;
    throw thrown;
  }
}

/** Keyed by the token, which the store does not have, so that passwords cannot be guessed from the store. */
const proofOf = (token: string, credential: string): string =>
  createHmac('sha256', token).update(credential).digest('base64url');

const sessionOf = ({ record: { actor, role, account, started_ms }, issued }: KnownSession): Session => ({
  actor,
  role: role as Role,
  account: account || undefined,
  started_ms,
  issued,
});
