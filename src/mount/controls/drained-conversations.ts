import QuickLRU from 'quick-lru';
import type { Clock } from '../../common/clock.ts';

/** Time after the beginning of a drain in which conversations are found that are there. */
const finding_ms = 60_000;
/** Time after which a conversation that has not gone on has ended: prefix caches have dropped it by then. */
const idle_ms = 300_000;
const known = { maxSize: 10_000 };

/**
 * The conversations that a draining provider keeps. Nothing is noted of conversations before: one is taken to be there that goes on within a
 * minute, unless it has begun here since the drain; and until it has not gone on for five minutes.
 */
export class DrainedConversations {
  readonly #clock: Clock;
  readonly #found_until_ms: number;
  /** When each was seen last; `-Infinity` for those that have begun elsewhere. */
  readonly #seen_ms = new QuickLRU<number, number>(known);

  constructor(clock: Clock, begun_ms: number) {
    this.#clock = clock;
    this.#found_until_ms = begun_ms + finding_ms;
  }

  /** Whether a conversation goes on at the provider; `isContinued` if this is not its first request. */
  keeps(conversation: number, isContinued: boolean): boolean {
    const now_ms = this.#clock.epoch_ms();
    const seen_ms = this.#seen_ms.get(conversation);
    const isThere = seen_ms === undefined ? now_ms < this.#found_until_ms : now_ms - seen_ms < idle_ms;
    const isKept = isContinued && isThere;
    this.#seen_ms.set(conversation, isKept ? now_ms : Number.NEGATIVE_INFINITY);
    return isKept;
  }
}
