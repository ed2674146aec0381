import { isObject } from '../../common/json-object.ts';

/** Deeper than `JSON.stringify` can write, although `JSON.parse` can read it. */
const levels = 6_000;
const deep_mark = '\0deep';
const deep_text = `${'['.repeat(levels)}${']'.repeat(levels)}`;

const nonsense: readonly unknown[] = [
  null,
  -1,
  2 ** 32 - 2,
  1e300,
  0.5,
  '',
  '__proto__',
  true,
  [null],
  {},
  deep_mark,
];

/** JSON texts of `value` with each of its parts, at any depth, left out or replaced by nonsense; and what was changed in each. */
export function* mutationsOf(value: unknown): Generator<[change: string, json: string]> {
  for (const { path, bad, mutant } of mutantsOf(value, '')) {
    const text = JSON.stringify(mutant).replaceAll(JSON.stringify(deep_mark), deep_text);
    yield [`${path === '' ? 'all of it' : path} ${inWords(bad)}`, text];
  }
}

interface Mutant {
  readonly path: string;
  /** What stands at the path; `undefined` where it was left out. */
  readonly bad: unknown;
  readonly mutant: unknown;
}

function inWords(bad: unknown): string {
  if (bad === undefined) return 'left out';
  return bad === deep_mark ? `replaced by arrays ${levels} deep` : `replaced by ${JSON.stringify(bad)}`;
}

function* mutantsOf(value: unknown, path: string): Generator<Mutant> {
  for (const bad of nonsense) yield { path, bad, mutant: bad };
  if (Array.isArray(value)) {
    for (const [at, part] of value.entries())
      for (const inner of mutantsOf(part, `${path}[${at}]`))
        yield { ...inner, mutant: value.with(at, inner.mutant) };
  } else if (isObject(value)) {
    for (const [key, part] of Object.entries(value)) {
      const { [key]: _, ...rest } = value;
      const at = path === '' ? key : `${path}.${key}`;
      yield { path: at, bad: undefined, mutant: rest };
      for (const inner of mutantsOf(part, at)) yield { ...inner, mutant: { ...rest, [key]: inner.mutant } };
    }
  }
}
