import type { EventData } from 'node:test';
import { inspect } from 'node:util';

/** What came of a run. */
export interface Counts {
  passed: number;
  failed: number;
}

/** Collects the results of tests by library and by what was tried, which are the names of the suites around them. */
export class Report {
  readonly counts: Counts = { passed: 0, failed: 0 };
  readonly failures: string[] = [];
  readonly #rows = new Map<string, Map<string, Counts>>();
  readonly #path: string[] = [];

  started({ name, nesting }: EventData.TestStart): void {
    this.#path.length = nesting;
    this.#path.push(name);
  }

  /** A suite fails because its tests do; one without tests, or a file that does not load, fails by itself. */
  ended({ name, nesting, details, skip, todo }: EventData.TestPass | EventData.TestFail): void {
    if (details.type === 'suite') return;
    const error = 'error' in details ? details.error : undefined;
    const passed = !error && !skip && !todo;
    const [what = '', library = ''] = this.#path;
    const row = this.#rows.get(library) ?? new Map<string, Counts>();
    const cell = row.get(what) ?? { passed: 0, failed: 0 };
    this.#rows.set(library, row.set(what, cell));
    for (const counts of [this.counts, cell]) counts[passed ? 'passed' : 'failed']++;
    if (!passed)
      this.failures.push(
        `${[...this.#path.slice(0, nesting), name].join(' › ')}\n${inspect(error?.cause ?? error)}\n`,
      );
  }

  /** Libraries by what was tried with them: how many tests have passed, and of how many where some have failed. */
  table(): string {
    const columns = [...new Set([...this.#rows.values()].flatMap(row => [...row.keys()]))];
    const cellOf = (counts: Counts | undefined) => {
      if (!counts) return '';
      const { passed, failed } = counts;
      return failed > 0 ? `${passed} of ${passed + failed}` : String(passed);
    };
    const lines = [...this.#rows].map(([name, row]) => [name, ...columns.map(what => cellOf(row.get(what)))]);
    const table = [['', ...columns], ...lines];
    const widths = table[0]!.map((_, at) => Math.max(...table.map(line => line[at]!.length)));
    return table.map(line => line.map((cell, at) => cell.padEnd(widths[at]!)).join('  ')).join('\n');
  }
}
