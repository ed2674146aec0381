import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../common/clock.ts';
import type { UpstreamControl } from '../../gateway/upstream/routing/upstream.ts';
import type { ProviderControl } from '../../records/provider-controls.ts';
import type { Log } from '../../telemetry/log.ts';
import { DrainedConversations } from './drained-conversations.ts';

/** A control that is in force, as load balancers follow it. */
export interface AppliedControl extends UpstreamControl {
  readonly record: ProviderControl;
}

/** Longer timers are set again: Node's end after 24 days. */
const max_timer_ms = 3_600_000;

/** The controls of providers that are in force at this process. Those with an end are over at it, by the clock of this process. */
export class AppliedControls {
  readonly #clock: Clock;
  readonly #log: Log | undefined;
  #records: readonly ProviderControl[] = [];
  #timer: NodeJS.Timeout | undefined;
  /** By the names of their providers. */
  current: ReadonlyMap<string, AppliedControl> = new Map();
  /** Whether they have been read. */
  areKnown = false;
  /** Called when others are in force. */
  onChange: () => void = () => {};

  /** Changes are written to `log`; of several processes by one. */
  constructor(clock: Clock, log: Log | undefined) {
    this.#clock = clock;
    this.#log = log;
  }

  /** What an operator lets a provider do. */
  stateOf(provider: string): UpstreamControl['state'] {
    return this.current.get(provider)?.state ?? 'active';
  }

  /** Follows these records, in place of those before. */
  apply(records: readonly ProviderControl[]): void {
    this.areKnown = true;
    this.#records = records;
    this.#refresh();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#records = [];
  }

  readonly #refresh = (): void => {
    clearTimeout(this.#timer);
    const now_ms = this.#clock.epoch_ms();
    const inForce = this.#records.filter(({ until_ms }) => until_ms === null || until_ms > now_ms);
    const ends = inForce.flatMap(({ until_ms }) => until_ms ?? []);
    if (ends.length > 0) {
      const wait_ms = Math.min(Math.max(1, Math.min(...ends) - now_ms), max_timer_ms);
      this.#timer = setTimeout(this.#refresh, wait_ms).unref();
    }
    const before = this.current;
    this.current = new Map(inForce.map(record => [record.provider, this.#applied(record)]));
    const changed = [...new Set([...before.keys(), ...this.current.keys()])].filter(
      name => before.get(name) !== this.current.get(name),
    );
    if (changed.length === 0) return;
    for (const name of changed) this.#tell(name);
    this.onChange();
  };

  /** The control as it is already, with what it knows, if nothing has changed of it. */
  #applied(record: ProviderControl): AppliedControl {
    const known = this.current.get(record.provider);
    if (known && isDeepStrictEqual(known.record, record)) return known;
    const { state, weight, at_ms } = record;
    if (state === 'paused') return { record, state };
    if (state === 'active' && weight) return { record, state, weight };
    // Another reason or end is no other drain.
    if (known?.state === 'draining') return { ...known, record };
    const conversations = new DrainedConversations(this.#clock, at_ms);
    return { record, state: 'draining', keeps: (...given) => conversations.keeps(...given) };
  }

  #tell(provider: string): void {
    const record = this.current.get(provider)?.record;
    if (!record) return this.#log?.info({ provider }, 'provider is as configured again');
    const { state, weight, until_ms, reason, actor } = record;
    const until = until_ms === null ? undefined : new Date(until_ms).toISOString();
    const facts = { provider, state, weight: weight ?? undefined, until, reason: reason || undefined, actor };
    this.#log?.info(facts, 'provider controlled by an operator');
  }
}
