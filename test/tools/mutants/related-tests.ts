import { readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';

/**
 * End-to-end and contract tests by the folder whose behaviour they show, the most particular folder first. Bugs are counted by these folders.
 * Every folder of `src` and `plugins` is below one of them.
 */
export const folders: readonly (readonly [folder: string, tests: RegExp])[] = [
  ['src/stores/limits', /e2e\/(state-|limits-|rate-limit-|key-limits|redis-|workers-shared)/],
  ['src/stores/ledger', /e2e\/(ledger-|what-is-stored|upgrade)/],
  ['src/stores/cache', /e2e\/response-cache/],
  [
    'src/stores',
    /(contract\/(ledger-|migrations|records-|retention|traffic-|usage-)|e2e\/(records-|stored-keys|ledger-|key-limits|application-acc))/,
  ],
  ['src/settlement', /e2e\/(settlement-|matrix-|chain-|telemetry-agreement|passthrough)/],
  [
    'src/outbound',
    /e2e\/(stream-framing|reply-bounds|matrix-|stalled-|hostile-(heartbeat|commit)|client-heartbeat)/,
  ],
  [
    'src/inbound',
    /e2e\/(bad-input|request-(auth|routes|validation)|mounted-body|upload|limits-before-body|hostile-bod|behind-)/,
  ],
  ['src/upstream/passthrough', /e2e\/(passthrough|upload|matrix-)/],
  ['src/upstream', /e2e\/(matrix-|provider-|failover-|hostile-|passthrough)/],
  ['src/exchange', /e2e\/(matrix-|chain-|stage-|settlement-|spans|log-content)/],
  ['src/chain', /e2e\/(chain-|stage-|own-stage|foreign-handler-|mounted-application|hosts|minimal-stages)/],
  ['src/dialects/responses', /e2e\/(responses-|matrix-|passthrough)/],
  ['src/dialects/messages', /e2e\/(messages-|matrix-|passthrough|sdk-messages)/],
  ['src/dialects', /e2e\/(request-|matrix-|own-dialect|sdk-|models)/],
  ['src/sse', /e2e\/(stream-framing|matrix-|hostile-framing)/],
  ['src/text', /e2e\/(redact|hostile-reasoning|matrix-)/],
  [
    'src/telemetry',
    /e2e\/(metrics|spans|mounted-(log|traces|registry)|sidecar-(log|traces)|log-content|telemetry-)/,
  ],
  ['src/dashboard/portal', /e2e\/(portal|pages)/],
  ['src/dashboard', /e2e\/(pages|dashboard-(sign-in|forms|usage|overview|requests|keys))/],
  ['src/config', /e2e\/(startup-errors|sidecar-(check|reload|modules)|reload|records-mistakes|own-plugins)/],
  ['src/catalog', /e2e\/(models|renamed-model|startup-errors)/],
  ['src/diagnostics', /e2e\/(startup-errors|sidecar-check|optional-packages)/],
  ['src/cli', /e2e\/(sidecar-|doctor|init|listener-|test-command|stored-keys|limits-after)/],
  ['src/workers', /e2e\/workers/],
  ['src/testing', /(contract\/(adapters|broken-|stages|check-|own-)|e2e\/(own-|check-plugins))/],
  ['src/simulator', /e2e\/(sidecar-demo|getting-started)/],
  [
    'src',
    /e2e\/(reload|hosts|mounted-(application|registry)|sidecar-(reload|shutdown)|stage-(close|mistakes)|models-prices)/,
  ],
  ['plugins/stages/rate-limit', /e2e\/(rate-limit-|limits-before|matrix-|messages-limits)/],
  ['plugins/stages/auth', /e2e\/(request-auth|stored-keys|application-accounts)/],
  ['plugins/stages/response-cache', /e2e\/response-cache/],
  ['plugins/stages/redact', /(contract\/stages|e2e\/redact)/],
  ['plugins/stages/model-access', /e2e\/(model-access|models)/],
  ['plugins/stages', /(contract\/stages|e2e\/(request-|matrix-|minimal-stages|hostile-reasoning))/],
  ['plugins', /(contract\/adapters|e2e\/(provider-|matrix-|thought-signatures))/],
];

/** The folder under which a file's bugs are counted. */
export const folderOf = (file: string): string => rowOf(file)[0];

const rowOf = (file: string) => folders.find(([folder]) => file.startsWith(`${folder}/`)) ?? ['', /^$/];

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
  const name = basename(file) === 'index.ts' ? basename(dirname(file)) : basename(file, '.ts');
  const isNear = (test: string) =>
    [dirname(mirror), dirname(mirror).replace('/src/', '/')].includes(dirname(test));
  const quick = tests.filter(test => test.startsWith('test/unit/'));
  const others = tests.filter(test => !test.startsWith('test/unit/'));
  const own = [...quick, ...others.filter(test => !test.includes('/e2e/'))].filter(
    test => test === mirror || importsOf(test).has(file),
  );
  const near = quick.filter(test => !own.includes(test) && isNear(test));
  const [, shows] = rowOf(file);
  const named = (test: string) => basename(test).startsWith(name);
  const far = others.filter(test => !own.includes(test) && (named(test) || shows.test(test)));
  return { own, near, far: [...far.filter(named), ...far.filter(test => !named(test))] };
}

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
