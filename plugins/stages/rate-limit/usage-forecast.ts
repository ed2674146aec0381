import type { Charge } from '../../../src/plugin.ts';

/** Accounts whose usage is remembered, for each model. */
const max_accounts = 10_000;

/** The usage of a settled exchange. */
export interface Sample {
  /** Estimated prompt tokens; then the upstream's count, 0 if there was none. */
  readonly estimated_prompt: number;
  readonly prompt: number;
  /** Completion tokens of all choices. */
  readonly completion: number;
  readonly choices: number;
  /** True if the completion reached its cap: its length is only a lower bound. */
  readonly isCut: boolean;
}

/** Weights of the newest sample, as in TCP's estimate of round-trip times (RFC 6298). */
const mean_weight = 1 / 8;
const deviation_weight = 1 / 4;

/** Recent completions of one kind: mean and mean deviation, newer ones weighted more. */
export class UsageAverage {
  #mean: number;
  #deviation = 0;
  #samples = 0;
  /** Ratio of the upstream's prompt tokens to the estimate. */
  prompt_ratio = 1;
  /** Upper bound of most completions, for one choice. */
  completion: number;

  /** `expected` is the length until the first completion. */
  constructor(expected: number) {
    this.#mean = expected;
    this.completion = Math.ceil(expected);
  }

  learn({ estimated_prompt, prompt, completion, choices, isCut }: Sample): void {
    if (prompt > 0 && estimated_prompt > 0) {
      const ratio = Math.min(4, Math.max(0.25, prompt / estimated_prompt));
      this.prompt_ratio += (ratio - this.prompt_ratio) * mean_weight;
    }
    const tokens = completion / choices;
    // A completion that reached its cap says nothing about others, unless it is above the mean.
    if (completion <= 0 || (isCut && tokens < this.#mean)) return;
    if (this.#samples++ === 0) {
      this.#mean = tokens;
      this.#deviation = tokens / 2;
    } else {
      this.#deviation += (Math.abs(tokens - this.#mean) - this.#deviation) * deviation_weight;
      this.#mean += (tokens - this.#mean) * mean_weight;
    }
    this.completion = Math.ceil(this.#mean + this.#deviation);
  }
}

/**
 * Usage averages by account and model, bounded in number. No account's usage changes what is expected of another: short replies to one would
 * let all others exceed their limits.
 */
export class UsageForecast {
  readonly #models = new Map<string, Map<string, UsageAverage>>();
  readonly #unknown: UsageAverage;

  /** `initial_completion_tokens` is the expected length until the first completion of an account with a model. */
  constructor(initial_completion_tokens: number) {
    this.#unknown = new UsageAverage(initial_completion_tokens);
  }

  /** The average of the account with the model. */
  of(account: string, model: string): UsageAverage {
    return this.#models.get(model)?.get(account) ?? this.#unknown;
  }

  learn(account: string, model: string, sample: Sample): void {
    let accounts = this.#models.get(model);
    if (!accounts) this.#models.set(model, (accounts = new Map()));
    let own = accounts.get(account);
    if (!own) {
      // Evicts the oldest; its average is learnt again.
      if (accounts.size >= max_accounts) accounts.delete(accounts.keys().next().value!);
      accounts.set(account, (own = new UsageAverage(this.#unknown.completion)));
    }
    own.learn(sample);
  }
}

/** A sample of a request that was not read. */
const unread = { estimated_prompt: 0, prompt: 0, choices: 1, isCut: false };

/** What an account's requests use that are passed on unread, whatever their model; nothing before the first has ended. */
export class UnreadForecast {
  readonly #tokens = new UsageForecast(0);
  readonly #nano_usd = new UsageForecast(0);

  of(account: string): Charge {
    const [tokens, nano_usd] = [this.#tokens.of(account, ''), this.#nano_usd.of(account, '')];
    return { requests: 1, tokens: tokens.completion, nano_usd: nano_usd.completion };
  }

  learn(account: string, { tokens, nano_usd }: Charge): void {
    this.#tokens.learn(account, '', { ...unread, completion: tokens });
    this.#nano_usd.learn(account, '', { ...unread, completion: nano_usd });
  }
}
