import {
  type Assertion,
  type PatternNode,
  parsePattern,
  type Ranges,
  wordCharacters,
} from './pattern-syntax.ts';

/** What stands before or behind a place in a text. */
type Side = (typeof sides)[number];
const sides = ['none', 'word', 'other'] as const;

type State =
  /** `accepts` has a 1 for each class of its characters. */
  | { readonly kind: 'characters'; readonly ranges: Ranges; accepts?: Uint8Array; readonly next: number }
  | { readonly kind: 'assertion'; readonly is: Assertion; readonly next: number }
  | { readonly kind: 'split'; next: readonly number[] }
  | { readonly kind: 'match'; readonly pattern: number };

/** States that a match may be in, after the same characters. */
interface Step {
  readonly states: readonly number[];
  readonly before: Side;
  /** A match may begin at each next character as well. */
  readonly isSearch: boolean;
  /** No match has begun. */
  readonly isIdle: boolean;
  /** By class of the next character. */
  readonly edges: (Edge | undefined)[];
}

interface Edge {
  /** The first pattern that matches up to here; -1 if none does. */
  readonly pattern: number;
  /** Always there in a search. */
  readonly next: Step | undefined;
}

/** A match. Without `end`, the text ends before it is certain whether one begins at `start`. */
export interface Match {
  readonly start: number;
  readonly end: number | undefined;
  readonly pattern: number;
}

/** Of all patterns. A character costs up to 10 ns for each state that it may reach. */
const max_states = 4_000;
const max_steps = 5_000;

/**
 * Matches several patterns at once, in time linear in the text and without backtracking: an automaton over sets of states, each made when
 * it is first reached. Of the patterns that match at a place, the longest match counts, and the first pattern of several.
 */
export class PatternMatcher {
  readonly #window: number;
  /** With `loose`, ^, $, \b and \B hold everywhere. */
  readonly #isLoose: boolean;
  readonly #states: State[] = [];
  readonly #first: readonly number[];
  /** The class of each UTF-16 code unit: units of one class are the same to all patterns. */
  readonly #classOf = new Uint16Array(0x10000);
  /** A unit of each class. */
  readonly #units: readonly number[];
  /** By class. */
  readonly #sides: readonly Side[];
  readonly #steps = new Map<string, Step>();
  /** The last mark of each state: of those that a step reaches, and of those that the next begins with. */
  readonly #reached = new Float64Array(max_states);
  readonly #entered = new Float64Array(max_states);
  #marks = 0;
  #begin!: Record<Side, { readonly here: Step; readonly anywhere: Step }>;

  /** Throws an Error for a pattern that cannot be matched so, or is too large. */
  constructor(patterns: readonly RegExp[], window: number, loose = false) {
    this.#window = window;
    this.#isLoose = loose;
    this.#first = patterns.map((pattern, at) => {
      const node = parsePattern(pattern);
      const least = leastLength(node);
      if (least === 0) throw new Error(`${pattern} matches an empty text`);
      if (least > window)
        throw new Error(`${pattern} matches no text that fits into the window of ${window}`);
      try {
        return this.#add(node, this.#push({ kind: 'match', pattern: at }));
      } catch (thrown) {
        if (thrown !== tooLarge) throw thrown;
        throw new Error(`${pattern} is too large: with the others it has more than ${max_states} states`);
      }
    });
    this.#units = this.#divide();
    this.#sides = this.#units.map(unit => (isIn(wordCharacters, unit) ? 'word' : 'other'));
    this.#restart();
  }

  /**
   * The first match that begins at `from` or behind it, the longest of those that begin there. `before`: the unit before the text.
   * `isEnd`: no more text will follow.
   */
  next(text: string, from: number, before: number | undefined, isEnd: boolean): Match | undefined {
    let step = this.#begin[this.#sideOf(from > 0 ? text.charCodeAt(from - 1) : before)].anywhere;
    /** No match that is possible began before. */
    let first = from;
    for (let place = from; place < text.length || isEnd; place++) {
      const kind = this.#kindAt(text, place);
      let edge = (step.edges[kind] ??= this.#edge(step, kind));
      if (edge.pattern >= 0) {
        const match = this.#firstOf(text, Math.max(first, place - this.#window), place, before, isEnd);
        if (match) return match;
        first = place;
        step = this.#begin[step.before].anywhere;
        edge = step.edges[kind] ??= this.#edge(step, kind);
      }
      if (place === text.length) return undefined;
      step = edge.next!;
      if (step.isIdle) first = place + 1;
    }
    const start = Math.max(first, text.length - this.#window);
    return start < text.length ? { start, end: undefined, pattern: -1 } : undefined;
  }

  /** The first match that begins from `from` to before `to`. */
  #firstOf(
    text: string,
    from: number,
    to: number,
    before: number | undefined,
    isEnd: boolean,
  ): Match | undefined {
    for (let start = from; start < to; start++) {
      const begin = this.#begin[this.#sideOf(start > 0 ? text.charCodeAt(start - 1) : before)].here;
      const match = this.#longest(text, start, begin, isEnd);
      if (match) return match;
    }
    return undefined;
  }

  #kindAt(text: string, place: number): number {
    return place < text.length ? this.#classOf[text.charCodeAt(place)]! : this.#units.length;
  }

  #longest(text: string, start: number, begin: Step, isEnd: boolean): Match | undefined {
    let step: Step | undefined = begin;
    let match: Match | undefined;
    const limit = start + this.#window;
    for (let place = start; step; place++) {
      if (place === text.length && !isEnd) return { start, end: undefined, pattern: -1 };
      const kind = this.#kindAt(text, place);
      const edge: Edge = (step.edges[kind] ??= this.#edge(step, kind));
      if (edge.pattern >= 0) match = { start, end: place, pattern: edge.pattern };
      step = place < limit ? edge.next : undefined;
    }
    return match;
  }

  #push(state: State): number {
    if (this.#states.length === max_states) throw tooLarge;
    return this.#states.push(state) - 1;
  }

  /** Adds the states of a node that go on to `next`; returns the first. */
  #add(node: PatternNode, next: number): number {
    switch (node.kind) {
      case 'characters':
        return this.#push({ kind: 'characters', ranges: node.ranges, next });
      case 'assertion':
        return this.#push({ kind: 'assertion', is: node.is, next });
      case 'sequence':
        return node.parts.reduceRight((then, part) => this.#add(part, then), next);
      case 'choice':
        return this.#push({ kind: 'split', next: node.options.map(option => this.#add(option, next)) });
      case 'repeat':
        return this.#repeat(node, next);
    }
  }

  #repeat({ of, min, max }: PatternNode & { kind: 'repeat' }, next: number): number {
    let first = next;
    if (max === Infinity) {
      const loop = { kind: 'split' as const, next: [next] };
      first = this.#push(loop);
      loop.next = [this.#add(of, first), next];
    } else {
      for (let more = min; more < max; more++)
        first = this.#push({ kind: 'split', next: [this.#add(of, first), next] });
    }
    for (let times = 0; times < min; times++) {
      const before = first;
      first = this.#add(of, first);
      // Nothing, however often.
      if (first === before) break;
    }
    return first;
  }

  /** Gives every unit its class; returns a unit of each. */
  #divide(): number[] {
    const cuts = new Set([0]);
    const states = this.#states.filter(state => state.kind === 'characters');
    const ranges = [...new Set([wordCharacters, ...states.map(state => state.ranges)])];
    for (const [from, to] of ranges.flat()) cuts.add(from).add(to + 1);
    const units = [...cuts].filter(unit => unit < 0x10000).sort((a, b) => a - b);
    for (const [at, unit] of units.entries()) this.#classOf.fill(at, unit, units[at + 1]);
    const accepts = new Map(
      ranges.map(all => [all, Uint8Array.from(units, unit => Number(isIn(all, unit)))]),
    );
    for (const state of states) state.accepts = accepts.get(state.ranges)!;
    return units;
  }

  #restart(): void {
    this.#steps.clear();
    const begin = (before: Side) => ({
      here: this.#step(this.#first, before, false),
      anywhere: this.#step([], before, true),
    });
    this.#begin = { none: begin('none'), word: begin('word'), other: begin('other') };
  }

  /** The step with these states; in a search those in which matches begin are left out. */
  #step(states: readonly number[], before: Side, isSearch: boolean): Step {
    const name = `${before} ${isSearch} ${String.fromCharCode(...states)}`;
    let step = this.#steps.get(name);
    if (!step) {
      step = { states, before, isSearch, isIdle: states.length === 0, edges: [] };
      this.#steps.set(name, step);
    }
    return step;
  }

  #edge({ states, before, isSearch }: Step, kind: number): Edge {
    // Untrusted text may lead to ever other sets of states.
    if (this.#steps.size > max_steps) this.#restart();
    const after = this.#sideOf(this.#units[kind]);
    const mark = ++this.#marks;
    const open = isSearch ? [...states, ...this.#first] : [...states];
    const next: number[] = [];
    let pattern = -1;
    for (let turn = 0; turn < open.length; turn++) {
      const at = open[turn]!;
      if (this.#reached[at] === mark) continue;
      this.#reached[at] = mark;
      const state = this.#states[at]!;
      if (state.kind === 'match') pattern = pattern < 0 ? state.pattern : Math.min(pattern, state.pattern);
      else if (state.kind === 'split') open.push(...state.next);
      else if (state.kind === 'assertion') {
        if (this.#isLoose || holds(state.is, before, after)) open.push(state.next);
      } else if (state.accepts![kind] && this.#entered[state.next] !== mark) {
        this.#entered[state.next] = mark;
        next.push(state.next);
      }
    }
    if (next.length === 0 && !isSearch) return { pattern, next: undefined };
    return { pattern, next: this.#step(next, after, isSearch) };
  }

  #sideOf(unit: number | undefined): Side {
    return unit === undefined ? 'none' : this.#sides[this.#classOf[unit]!]!;
  }
}

const isIn = (ranges: Ranges, unit: number): boolean =>
  ranges.some(([from, to]) => unit >= from && unit <= to);

/** Length of the shortest match. */
function leastLength(node: PatternNode): number {
  switch (node.kind) {
    case 'characters':
      return 1;
    case 'assertion':
      return 0;
    case 'sequence':
      return node.parts.reduce((sum, part) => sum + leastLength(part), 0);
    case 'choice':
      return Math.min(...node.options.map(leastLength));
    case 'repeat':
      return node.min === 0 ? 0 : node.min * leastLength(node.of);
  }
}

const tooLarge = new Error('too many states');

function holds(is: Assertion, before: Side, after: Side): boolean {
  if (is === '^') return before === 'none';
  if (is === '$') return after === 'none';
  return ((before === 'word') !== (after === 'word')) === (is === '\\b');
}
