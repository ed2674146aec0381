import { type ConfigIssue, shownIssue } from '../../common/config-error.ts';
import { fieldPath } from '../../common/field-path.ts';

/** Names and positions that lead to a value. */
export type Path = readonly PropertyKey[];

/** What an import leaves out or had to guess, in the order in which it was found. */
export class Findings {
  /** The file that it is about. */
  readonly file: string;
  readonly #lost: ConfigIssue[] = [];
  readonly #unsure: ConfigIssue[] = [];
  readonly #known = new Set<string>();
  readonly #lineOf: (path: Path) => number | undefined;

  constructor(file: string, lineOf: (path: Path) => number | undefined) {
    this.file = file;
    this.#lineOf = lineOf;
  }

  /** Notes that what stands at `path` has no counterpart, and why. */
  lost(path: Path, message: string): void {
    this.#note(this.#lost, path, message);
  }

  /** Notes that what stands at `path` came over but has to be looked at, and why. */
  check(path: Path, message: string): void {
    this.#note(this.#unsure, path, message);
  }

  /** All of them as lines of text, each with its place and reason. */
  get text(): string {
    const parts = [
      sectionOf('Without counterpart, left out', this.#lost),
      sectionOf('Came over, and has to be looked at', this.#unsure),
    ];
    return parts.filter(part => part !== '').join('\n\n') || 'Everything came over.';
  }

  /** Once, however often it is found. */
  #note(issues: ConfigIssue[], path: Path, message: string): void {
    const key = JSON.stringify([path.map(String), message]);
    if (this.#known.has(key)) return;
    this.#known.add(key);
    issues.push({ path, message, line: this.#lineOf(path) });
  }
}

const sectionOf = (title: string, issues: readonly ConfigIssue[]): string =>
  issues.length === 0 ? '' : [`${title} (${issues.length}):`, ...linesOf(issues)].join('\n');

/** Places that a line lists beside the first. */
const max_places = 30;
/** Of what stands on no line. */
const last_line = Number.MAX_SAFE_INTEGER;

/** One line for all fields of a name with the same reason, in the order of the file. */
function linesOf(issues: readonly ConfigIssue[]): readonly string[] {
  const inOrder = issues.toSorted((one, other) => (one.line ?? last_line) - (other.line ?? last_line));
  const alike = Map.groupBy(inOrder, ({ path, message }) => JSON.stringify([String(path.at(-1)), message]));
  return [...alike.values()].map(([first, ...others]) => {
    const places = others.map(({ path, line }) => (line === undefined ? fieldPath(path) : String(line)));
    const more = places.length > max_places ? [`and ${places.length - max_places} more`] : [];
    const shown = [...places.slice(0, max_places), ...more].join(', ');
    const also = places.length === 0 ? '' : ` (also at: ${shown})`;
    return `  ${shownIssue(first!)}${also}`;
  });
}
