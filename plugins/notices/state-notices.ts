import {
  type ClaimedDelivery,
  type DeliveryResult,
  hour_ms,
  isOutage,
  type NewNotice,
  type NoticeRecords,
  timeOrderedUuid,
} from '../../src/plugin.ts';
import type { NoticeType } from './notice-types.ts';

/** That something is out, or is so no longer. */
export interface StateNotice extends Pick<NewNotice, 'subject' | 'data' | 'created_ms'> {
  readonly type: NoticeType;
  /** It says that something is over. */
  readonly isEnd: boolean;
  /** The process knows nothing of before. */
  readonly isFirst: boolean;
}

/** One that waits for the records store, and is sent without it meanwhile. */
interface Held extends StateNotice {
  readonly notice: NewNotice;
  /** Receivers that have it, or have refused it for good. */
  readonly ended: Map<string, DeliveryResult['state']>;
  attempts: number;
}

export interface StateNoticesSetup {
  readonly notices: NoticeRecords;
  /** Who gets a notice. */
  readonly targetsOf: (notice: NewNotice) => Promise<readonly string[]>;
  /** Tries to deliver it. */
  readonly attempt: (delivery: ClaimedDelivery) => Promise<DeliveryResult>;
  /** Name of this instance. */
  readonly instance: string;
}

/** What was not told before this many others came is not told. */
const max_held = 100;
/** How long what another instance has told counts. */
const others_ms = hour_ms;

/**
 * Tells states, one notice for each change at all instances together. While the records store is out, which is when the ledger is behind,
 * each instance sends its own notices without the outbox; they are put there later.
 */
export class StateNotices {
  readonly #setup: StateNoticesSetup;
  readonly #held: Held[] = [];

  constructor(setup: StateNoticesSetup) {
    this.#setup = setup;
  }

  /** Takes a change, which `flush` tells. */
  add(state: StateNotice): void {
    if (this.#held.length >= max_held) return;
    const { subject, type, created_ms } = state;
    const data = { ...state.data, instance: this.#setup.instance };
    const notice = { id: timeOrderedUuid(created_ms), key: '', subject, type, data, created_ms };
    this.#held.push({ ...state, notice, ended: new Map(), attempts: 0 });
  }

  /** Puts what was added into the outbox, or sends it if that is out. Returns whether something was put there. */
  async flush(now_ms: number): Promise<boolean> {
    let isAdded = false;
    try {
      for (let first = this.#held[0]; first; first = this.#held[0]) {
        isAdded = (await this.#put(first, now_ms)) || isAdded;
        this.#held.shift();
      }
    } catch (thrown) {
      if (!isOutage(thrown)) throw thrown;
      for (const held of this.#held) await this.#send(held);
    }
    return isAdded;
  }

  async #put({ notice, isEnd, isFirst, ended }: Held, now_ms: number): Promise<boolean> {
    const { notices, targetsOf, instance } = this.#setup;
    const { subject, type } = notice;
    const [last] = await notices.list({ subject, limit: 1 });
    const isYoung = last !== undefined && now_ms - last.created_ms < others_ms;
    const isOfOther = last?.data.instance !== instance;
    // Told by another instance, or before a restart.
    if (last?.type === type && (isEnd || isYoung)) return false;
    if (isEnd && (!last || (isFirst && isOfOther && isYoung))) return false;
    const isAdded = await notices.add({ ...notice, key: `${subject}:${type}:${last?.id ?? 'first'}` });
    if (isAdded && ended.size > 0) {
      const sent = [...ended].filter(([, state]) => state === 'sent').map(([target]) => target);
      const targets = (await targetsOf(notice)).filter(target => !ended.has(target));
      await notices.route(notice.id, targets, now_ms, sent);
    }
    return isAdded;
  }

  async #send(held: Held): Promise<void> {
    const { notice, isEnd, isFirst, ended } = held;
    if (isEnd && isFirst) return;
    held.attempts++;
    const targets = (await this.#setup.targetsOf(notice)).filter(target => !ended.has(target));
    await Promise.all(
      targets.map(async target => {
        const { state } = await this.#setup.attempt({ notice, target, attempts: held.attempts });
        if (state !== 'waiting') ended.set(target, state);
      }),
    );
  }
}
