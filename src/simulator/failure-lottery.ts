import { type Directives, readDirectives } from './directives.ts';
import type { SimulatorOptions } from './options.ts';
import { saltSeed } from './seed.ts';

/** Decides which requests fail by the server's own fail rate: the same numbers for the same seed, run after run. */
export class FailureLottery {
  readonly #rate: number;
  readonly #seed: number;
  readonly #failure: Directives;
  #drawn = 0;

  constructor(options: Pick<SimulatorOptions, 'fail_rate' | 'fail' | 'seed'>) {
    this.#rate = options.fail_rate;
    this.#seed = options.seed;
    this.#failure = readDirectives(options.fail ?? 'status=503');
  }

  /** The directives of the next request if it fails. */
  draw(): Directives | undefined {
    if (this.#rate === 0) return undefined;
    return saltSeed(this.#seed, this.#drawn++) / 2 ** 32 < this.#rate ? this.#failure : undefined;
  }
}
