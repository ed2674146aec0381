import { type MutatedTree, tracked } from './mutated-tree.ts';
import type { Mutant } from './operators.ts';
import { relatedTests } from './related-tests.ts';

/** The longest that the tests of a file and of its neighbours take, and then the others, on a quiet machine. */
const quick_ms = 45_000;
const others_ms = 90_000;
/** A bug may leave every test of a file waiting; no quick one takes long without it. */
const quick_test_ms = 10_000;

/** A bug is noticed by one of these, tried in this order, or by none. */
export const witnesses = ['unit', 'e2e', 'types', 'none'] as const;
export type Witness = (typeof witnesses)[number];

/** A bug in a file. */
export interface Place extends Mutant {
  readonly file: string;
}

/** Tries the tests that belong to a bug. */
export class Trial {
  readonly #tree: MutatedTree;
  readonly #tests = tracked('test').filter(file => file.endsWith('.test.ts'));
  /** Whether test files pass without any bug, as far as was asked. */
  readonly #sound = new Map<string, boolean>();
  readonly #isNear: boolean;

  constructor(tree: MutatedTree, isNear: boolean) {
    this.#tree = tree;
    this.#isNear = isNear;
  }

  async witnessOf(place: Place): Promise<Witness> {
    const { own, near, far } = relatedTests(place.file, this.#tests);
    const limit = ['--testTimeout', String(quick_test_ms)];
    if (await this.#fails(place, own, quick_ms, limit)) return 'unit';
    if (await this.#fails(place, near, quick_ms, limit)) return 'unit';
    if (!this.#isNear && (await this.#fails(place, far, others_ms, []))) return 'e2e';
    return (await this.#tree.with(place.file, place, () => this.#tree.compiles())) ? 'none' : 'types';
  }

  /** Whether one of the test files fails with the bug, and passes without it. Those that fail without it are left out from then on. */
  async #fails(
    place: Place,
    files: readonly string[],
    limit_ms: number,
    options: string[],
  ): Promise<boolean> {
    const tried = files.filter(file => this.#sound.get(file) !== false);
    if (tried.length === 0) return false;
    const outcome = await this.#tree.with(place.file, place, () =>
      this.#tree.test(tried, limit_ms, ...options),
    );
    // Quick tests may be late because the bug keeps them busy; of the others there are too many for the time.
    if (outcome === 'late')
      return limit_ms === quick_ms && (await this.#tree.test(tried, limit_ms, ...options)) !== 'late';
    if (outcome.length === 0) return false;
    for (const file of outcome)
      if (!(await this.#isSound(file))) return this.#fails(place, files, limit_ms, options);
    return true;
  }

  async #isSound(file: string): Promise<boolean> {
    const known = this.#sound.get(file);
    if (known !== undefined) return known;
    const outcome = await this.#tree.test([file], others_ms);
    const isSound = outcome !== 'late' && outcome.length === 0;
    if (!isSound) process.stdout.write(`left out, as it fails without any bug: ${file}\n`);
    this.#sound.set(file, isSound);
    return isSound;
  }
}
