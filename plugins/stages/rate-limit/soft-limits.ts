import { type Exchange, type Limit, limitLabel, minute_ms, type StageSetup } from '../../../src/plugin.ts';

/** Each limit of an account is told of once in this time, as far as it is remembered. */
const told_ms = 10 * minute_ms;
const max_told = 1000;

/** Tells in the log which soft limits are reached, whose requests go on. */
export class SoftLimits {
  readonly #clock: StageSetup['clock'];
  readonly #told = new Map<string, number>();

  constructor(clock: StageSetup['clock']) {
    this.#clock = clock;
  }

  reached({ account, log }: Exchange, limit: Limit): void {
    const now_ms = this.#clock.elapsed_ms();
    const name = `${account?.id ?? ''} ${limit.key ?? ''} ${limit.model ?? ''} ${limitLabel(limit)}`;
    if (now_ms - (this.#told.get(name) ?? Number.NEGATIVE_INFINITY) < told_ms) return;
    if (this.#told.size >= max_told) this.#told.clear();
    this.#told.set(name, now_ms);
    const { model } = limit;
    log.warn(
      { account: account?.id, limit: limitLabel(limit), ...(model && { model }) },
      'a soft limit is reached',
    );
  }
}
