import { refusal, type StoredResponses } from '../../../../src/plugin.ts';
import type { BackgroundRun } from './background-run.ts';

/** Runs that have ended and whose events are kept. */
const max_ended = 32;

const tables = new WeakMap<StoredResponses, BackgroundRuns>();

/** The responses that this process generates in the background. */
export class BackgroundRuns {
  /** In the order in which they began; those that have ended are deleted first. */
  readonly #runs = new Map<string, BackgroundRun>();

  /** The runs whose responses are kept in `responses`, under whichever configuration they have begun. */
  static of(responses: StoredResponses): BackgroundRuns {
    const table = tables.get(responses) ?? new BackgroundRuns();
    tables.set(responses, table);
    return table;
  }

  /** The run of an account's response, also of one that has ended a short while ago. */
  find(account: string, id: string): BackgroundRun | undefined {
    const run = this.#runs.get(id);
    return run?.account === account ? run : undefined;
  }

  /** Throws 429 if the account has `max` runs already. */
  admit(account: string, max: number): void {
    const running = [...this.#runs.values()].filter(run => run.account === account && !run.isOver);
    if (running.length >= max)
      throw refusal('rate_limited', {
        message: `Rate limit exceeded: ${max} responses of the account are generated in the background already.`,
        headers: { 'retry-after': '5' },
      });
  }

  add(run: BackgroundRun): void {
    const ended = [...this.#runs.values()].filter(({ isOver }) => isOver);
    for (const { id } of ended.slice(0, Math.max(0, ended.length - max_ended + 1))) this.#runs.delete(id);
    this.#runs.set(run.id, run);
  }

  /** Forgets the events of a response that is deleted. */
  delete(id: string): void {
    this.#runs.delete(id);
  }
}
