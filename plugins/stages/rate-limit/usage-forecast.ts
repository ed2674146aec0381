/** How many accounts' habits are remembered for each model; of others the model's own are used. */
const max_habits = 10_000;

/** What an exchange turned out to use. */
export interface Sample {
  /** Tokens of the prompt as estimated, and as the upstream counted them; 0 where it did not. */
  readonly estimated_prompt: number;
  readonly prompt: number;
  /** Tokens of the completion, of all its choices. */
  readonly completion: number;
  readonly choices: number;
  /** The completion would have been longer without a cap: all that is known is a lower bound. */
  readonly isCut: boolean;
}

/** Weights of the newest sample, as in TCP's estimate of round-trip times (RFC 6298). */
const mean_weight = 1 / 8;
const deviation_weight = 1 / 4;

/** What completions of one kind have used lately: mean and mean deviation, the newer the heavier. */
export class UsageAverage {
  #mean: number;
  #deviation = 0;
  #samples = 0;
  #prompt_ratio = 1;

  /** `expected` is what completions are taken for until the first. */
  constructor(expected: number) {
    this.#mean = expected;
  }

  learn({ estimated_prompt, prompt, completion, choices, isCut }: Sample): void {
    if (prompt > 0 && estimated_prompt > 0) {
      const ratio = Math.min(4, Math.max(0.25, prompt / estimated_prompt));
      this.#prompt_ratio += (ratio - this.#prompt_ratio) * mean_weight;
    }
    const tokens = completion / choices;
    // What was cut short says nothing about how long others will be, unless it is longer than they were already.
    if (completion <= 0 || (isCut && tokens < this.#mean)) return;
    if (this.#samples++ === 0) {
      this.#mean = tokens;
      this.#deviation = tokens / 2;
      return;
    }
    this.#deviation += (Math.abs(tokens - this.#mean) - this.#deviation) * deviation_weight;
    this.#mean += (tokens - this.#mean) * mean_weight;
  }

  /** What most completions stay below, of one choice. */
  get completion(): number {
    return Math.ceil(this.#mean + this.#deviation);
  }

  /** The upstream's count of prompts divided by the estimate. */
  get prompt_ratio(): number {
    return this.#prompt_ratio;
  }
}

/** The habits of accounts with models, bounded in number (protocol i5). */
export class Forecast {
  readonly #models = new Map<
    string,
    { readonly all: UsageAverage; readonly accounts: Map<string, UsageAverage> }
  >();
  readonly #unknown: UsageAverage;

  /** `initial_completion_tokens` is what completions are taken for until the first of their model. */
  constructor(initial_completion_tokens: number) {
    this.#unknown = new UsageAverage(initial_completion_tokens);
  }

  /** The habit of the account with the model, else that of all accounts with it. */
  of(account: string, model: string): UsageAverage {
    const habits = this.#models.get(model);
    return habits?.accounts.get(account) ?? habits?.all ?? this.#unknown;
  }

  learn(account: string, model: string, sample: Sample): void {
    let habits = this.#models.get(model);
    if (!habits) {
      habits = { all: new UsageAverage(this.#unknown.completion), accounts: new Map() };
      this.#models.set(model, habits);
    }
    const { all, accounts } = habits;
    let own = accounts.get(account);
    if (!own) {
      // The one that was there first is forgotten first; it will be learnt again.
      if (accounts.size >= max_habits) accounts.delete(accounts.keys().next().value!);
      accounts.set(account, (own = new UsageAverage(all.completion)));
    }
    all.learn(sample);
    own.learn(sample);
  }
}
