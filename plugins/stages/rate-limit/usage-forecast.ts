/** Accounts with their own average, for each model; others use the model's. */
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

  /** `expected` is the length until the first completion. */
  constructor(expected: number) {
    this.#mean = expected;
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
      return;
    }
    this.#deviation += (Math.abs(tokens - this.#mean) - this.#deviation) * deviation_weight;
    this.#mean += (tokens - this.#mean) * mean_weight;
  }

  /** Upper bound of most completions, for one choice. */
  get completion(): number {
    return Math.ceil(this.#mean + this.#deviation);
  }
}

/** Usage averages by account and model, bounded in number. */
export class UsageForecast {
  readonly #models = new Map<
    string,
    { readonly all: UsageAverage; readonly accounts: Map<string, UsageAverage> }
  >();
  readonly #unknown: UsageAverage;

  /** `initial_completion_tokens` is the expected length until the first completion of a model. */
  constructor(initial_completion_tokens: number) {
    this.#unknown = new UsageAverage(initial_completion_tokens);
  }

  /** The average of the account with the model, else that of all accounts with it. */
  of(account: string, model: string): UsageAverage {
    const averages = this.#models.get(model);
    return averages?.accounts.get(account) ?? averages?.all ?? this.#unknown;
  }

  learn(account: string, model: string, sample: Sample): void {
    let averages = this.#models.get(model);
    if (!averages) {
      averages = { all: new UsageAverage(this.#unknown.completion), accounts: new Map() };
      this.#models.set(model, averages);
    }
    const { all, accounts } = averages;
    let own = accounts.get(account);
    if (!own) {
      // Evicts the oldest; its average is learnt again.
      if (accounts.size >= max_accounts) accounts.delete(accounts.keys().next().value!);
      accounts.set(account, (own = new UsageAverage(all.completion)));
    }
    all.learn(sample);
    own.learn(sample);
  }
}
