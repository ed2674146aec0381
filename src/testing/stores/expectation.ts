import { isDeepStrictEqual } from 'node:util';
import { ContractError, type StoreRule } from '../contract-error.ts';

/** Tells what is wrong with the store or extension of this name. */
export class Expectation {
  readonly #subject: string;

  constructor(subject: string) {
    this.#subject = subject;
  }

  /** Throws a ContractError unless both are alike. */
  same(rule: StoreRule, problem: string, expected: unknown, got: unknown): void {
    if (!isDeepStrictEqual(got, expected)) this.#fail(rule, problem, expected, got);
  }

  /** Throws a ContractError unless `work` rejects with an error of this name. */
  async rejects(rule: StoreRule, problem: string, name: string, work: () => Promise<unknown>): Promise<void> {
    const thrown = await work().then(
      () => undefined,
      (error: unknown) => error,
    );
    if ((thrown as Error | undefined)?.name !== name) this.#fail(rule, problem, name, thrown);
  }

  #fail(rule: StoreRule, problem: string, expected: unknown, got: unknown): never {
    throw new ContractError({ rule, subject: this.#subject, problem, expected, got });
  }
}
