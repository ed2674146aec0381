import { readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';

interface RelatedTests {
  /** Those that mirror or import the file. */
  readonly own: string[];
  /** Those of its neighbours. */
  readonly near: string[];
  /** Those over sockets and processes whose names have words of the file's path, most of them first, and the matrix. */
  readonly far: string[];
}

/** The tests of a source file, quick ones first. */
export function relatedTests(file: string, tests: readonly string[]): RelatedTests {
  const mirror = `test/unit/${file.replace(/\.ts$/, '.test.ts')}`;
  const isNear = (test: string) =>
    [dirname(mirror), dirname(mirror).replace('/src/', '/')].includes(dirname(test));
  const quick = tests.filter(test => test.startsWith('test/unit/'));
  const others = tests.filter(test => !test.startsWith('test/unit/'));
  const own = [...quick, ...others.filter(test => !test.includes('/e2e/'))].filter(
    test => test === mirror || importsOf(test).has(file),
  );
  const near = quick.filter(test => !own.includes(test) && isNear(test));
  const words = wordsOf(file);
  const shared = (test: string) => [...wordsOf(basename(test))].filter(word => words.has(word)).length;
  const far = others
    .filter(test => !own.includes(test) && (shared(test) > 0 || basename(test).startsWith('matrix-')))
    .toSorted((one, other) => shared(other) - shared(one));
  return { own, near, far };
}

/** The words of a path, each as one of many: `limits` is `limit`. */
const wordsOf = (path: string): ReadonlySet<string> =>
  new Set(
    path
      .split(/[^a-z]+/)
      .filter(word => !/^(?:|src|plugins|index|test|ts)$/.test(word))
      .map(word => word.replace(/s$/, '')),
  );

const imports = new Map<string, ReadonlySet<string>>();

/** The source files that a test imports itself. */
function importsOf(test: string): ReadonlySet<string> {
  const known = imports.get(test);
  if (known) return known;
  const found = readFileSync(test, 'utf8').matchAll(/ from '[./]+((?:src|plugins)\/[^']+)'/g);
  const files = new Set([...found].map(([, file = '']) => file));
  imports.set(test, files);
  return files;
}
