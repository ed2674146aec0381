import { readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';

/** End-to-end tests by the folder whose behaviour they show, the most particular folder first. */
const shownBy: readonly (readonly [folder: string, tests: RegExp])[] = [
  ['src/stores/limits', /e2e\/(state-|limits-|rate-limit-)/],
  ['src/stores/ledger', /e2e\/ledger-/],
  ['src/stores', /e2e\/(ledger-|records-|stored-keys|usage-)/],
  ['src/settlement', /e2e\/(settlement-|matrix-|background-reads)/],
  [
    'src/outbound',
    /e2e\/(stream-|hostile-heartbeat|hostile-commit|stalled-|matrix-clients|settlement-leftovers)/,
  ],
  ['src/inbound', /e2e\/(bad-input|hostile-bod|request-|mounted-body|upload)/],
  ['src/upstream', /e2e\/(failover-|provider-|hostile-)/],
  ['src/chain', /e2e\/(chain-|own-stage|matrix-(stages|replies))/],
  ['src/dialects', /e2e\/(responses-|request-|messages-|matrix-)/],
  ['src/telemetry', /e2e\/(metrics|spans|mounted-traces)/],
  ['src/dashboard', /e2e\/dashboard-(sign-in|forms|usage|overview)/],
  ['plugins/stages/rate-limit', /e2e\/rate-limit-/],
  ['plugins/stages/auth', /e2e\/request-auth/],
  ['plugins/stages', /(contract\/stages|e2e\/request-)/],
  ['plugins/providers', /e2e\/provider-/],
];

export interface RelatedTests {
  /** Those that mirror or import the file. */
  readonly own: string[];
  /** Those of its neighbours. */
  readonly near: string[];
  /** Those that show the behaviour of its folder, over sockets and processes. */
  readonly far: string[];
}

/** The tests of a source file, quick ones first. */
export function relatedTests(file: string, tests: readonly string[]): RelatedTests {
  const mirror = `test/unit/${file.replace(/\.ts$/, '.test.ts')}`;
  const name = basename(file) === 'index.ts' ? basename(dirname(file)) : basename(file);
  const importsIt = (test: string) =>
    new RegExp(`from '[./]+${file.replaceAll('.', '\\.')}'`).test(readFileSync(test, 'utf8'));
  const quick = tests.filter(test => !test.startsWith('test/e2e/'));
  const own = quick.filter(test => test === mirror || importsIt(test));
  const near = quick.filter(test => !own.includes(test) && dirname(test) === `test/unit/${dirname(file)}`);
  const pattern = shownBy.find(([folder]) => file.startsWith(folder))?.[1];
  const far = tests.filter(
    test =>
      !own.includes(test) && !near.includes(test) && (pattern?.test(test) || test.includes(`e2e/${name}`)),
  );
  return { own, near, far };
}
