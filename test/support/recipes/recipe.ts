import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from '@jest/globals';
import { type Block, blocksOf, read, root } from '../documents/blocks.ts';
import { patternOf } from '../documents/passages.ts';
import { freePort } from '../free-port.ts';
import { dyingWithTests, PrintingProcess } from '../printing-process.ts';
import { pathOf } from '../programs.ts';
import { type ListedModel, type ReceivedRequest, startPaidApis } from './paid-apis.ts';

/** A server of this machine that stands for a host, and the certificate of it that the page trusts. */
export interface HostServer {
  readonly host: string;
  readonly port: number;
  readonly certificate: string;
}

/** What a page is run with. */
export interface RecipeSetting {
  /** Paid APIs that a simulated server answers for, by host name. */
  readonly hosts?: readonly string[];
  /** Servers of the test behind names of other hosts. */
  readonly servers?: readonly HostServer[];
  /** The models that the paid APIs list; without them any name is served. */
  readonly models?: readonly ListedModel[];
  /**
   * Programs that the page calls and that are not on a test's machine, by name: the body of a shell script. `$@` is what the page gives
   * them. `sluice`, `npm` and `npx` are there always.
   */
  readonly programs?: Readonly<Record<string, string>>;
  /** Programs of `programs.json` that the page needs beside curl. */
  readonly needs?: readonly string[];
  /** Ports of the page, beside the usual ones, in whose place free ones are taken. */
  readonly ports?: readonly number[];
  /** Called before the page runs, with the ports that it will use in place of those that it names. */
  readonly prepare?: (ports: Readonly<Record<number, number>>) => void;
  readonly environment?: Readonly<Record<string, string>>;
  /** Commands of the test before the page's: files of the reader's own, servers that run already. */
  readonly before?: string;
  /** Commands of the test after the page's, to look at what it has done. */
  readonly after?: string;
}

/** What a page that was run has left. */
export interface RecipeRun {
  /** All that its commands printed, in order. */
  readonly output: string;
  /** What the paid APIs have received. */
  readonly received: readonly ReceivedRequest[];
}

/** Ports as documents name them: of gateways, model servers, databases and collectors. */
const usualPorts = [
  8000, 8001, 8002, 8080, 8081, 8082, 8090, 8443, 11_434, 30_000, 3000, 3001, 4000, 9090, 9093, 6379, 5432,
  4317, 4318,
];

/** A recipe takes seconds; one that waits for what does not come ends after this. */
const total_ms = 60_000;

const network = fileURLToPath(new URL('network.cjs', import.meta.url));

/**
 * Runs a page as a reader does who pastes every block into one terminal, from top to bottom, in an empty folder.
 *
 * - `sh` is run. The first command that fails ends the run and fails it. `curl` and `sluice` wait until an address of this machine that they name answers.
 * - A block below a line that ends with `` `name`: `` is saved as that file; if the line says "Append", it is appended.
 * - `text`, `json` and `http` are what the commands above print: their lines occur in this order, and `…` stands for anything.
 *
 * Throws for a block that is none of these. Servers that the page leaves running are ended.
 */
export async function runRecipe(page: string, setting: RecipeSetting = {}): Promise<RecipeRun> {
  for (const program of ['curl', ...(setting.needs ?? [])]) pathOf(program);
  const blocks = blocksOf(page, read(page));
  const directory = mkdtempSync(join(tmpdir(), 'sluice-recipe-'));
  const ports = await portsFor([...usualPorts, ...(setting.ports ?? [])]);
  const hosts = setting.hosts ?? [];
  const apis = hosts.length > 0 ? await startPaidApis(hosts, setting.models ?? []) : undefined;
  const servers = [
    ...(setting.servers ?? []),
    ...(apis ? hosts.map(host => ({ host, port: apis.port, certificate: apis.certificate })) : []),
  ];
  const trusted = new Set(servers.map(({ certificate }) => certificate));
  try {
    setting.prepare?.(ports.taken);
    const placed = (text: string) => text.replaceAll(ports.pattern, port => `${ports.taken[port]}`);
    const script = [setting.before ?? '', ...blocks.map(commandsOf), setting.after ?? ''].map(placed);
    const work = join(directory, 'work');
    const environment = {
      PATH: `${programsIn(directory, setting.programs ?? {})}:${dirname(process.execPath)}:${process.env.PATH}`,
      HOME: directory,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(tmpdir(), 'sluice-compile-cache'),
      NODE_OPTIONS: `--conditions=sluice-source --no-warnings --require=${network}`,
      RECIPE_NETWORK: JSON.stringify({
        ports: ports.taken,
        hosts: Object.fromEntries(servers.map(({ host, port }) => [host, port])),
      }),
      ...(trusted.size > 0 && {
        NODE_EXTRA_CA_CERTS: written(join(directory, 'ca.pem'), [...trusted].join('')),
      }),
      ...setting.environment,
    };
    mkdirSync(work);
    const output = await pasted(script.join('\n'), work, environment);
    for (const block of blocks) if (isOutput(block)) expectPrinted(output, placed(block.code), block);
    return { output, received: apis?.received ?? [] };
  } finally {
    await apis?.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

const isOutput = ({ language, file }: Block): boolean =>
  file === undefined && ['text', 'json', 'http'].includes(language);

/** The block as commands of one script. */
function commandsOf(block: Block): string {
  const { language, file, appended, code, document, line } = block;
  if (file !== undefined) {
    const folder = dirname(file);
    const made = folder === '.' ? '' : `mkdir -p '${folder}'\n`;
    return `${made}cat ${appended ? '>>' : '>'} '${file}' <<'END_OF_${line}'\n${code}END_OF_${line}`;
  }
  if (language === 'sh') return `${code}\nstarted_all`;
  if (isOutput(block)) return '';
  throw new Error(
    `${document}:${line}: a block of ${language || 'no language'} is no command, no file and no output`,
  );
}

/** Before the commands of the page: what waits for a server that was started in the background, and ends all at the end: by two signals, since a gateway waits seconds for its load balancer after one. */
const prologue = `
export RECIPE_SHELL=$$
set -e -o pipefail
trap 'trap "" TERM INT; kill -TERM -- -$$; kill -INT -- -$$; wait' EXIT
answers() { (exec 3<> "/dev/tcp/127.0.0.1/$1") 2> /dev/null; }
wait_for() {
  local tries=0
  until answers "$1"; do
    tries=$((tries + 1))
    if [ "$tries" -gt 400 ]; then echo "nothing listens on port $1"; return 1; fi
    sleep 0.05
  done
}
wait_for_named() { for port in $(grep -oE '(127\\.0\\.0\\.1|localhost):[0-9]+' <<< "$*" | grep -oE '[0-9]+$' | sort -u); do wait_for "$port"; done; }
started_all() { for port in $(jobs -r | grep -oE '[-]-port[ =][0-9]+' | grep -oE '[0-9]+$'); do until [ "$port" = 0 ] || answers "$port" || ! jobs -r | grep -qE -e "-port[ =]$port( |$)"; do sleep 0.05; done; done; }
curl() { wait_for_named "$@" && command curl "$@"; }
export -f answers wait_for wait_for_named
`;

async function pasted(
  script: string,
  cwd: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  const file = written(join(cwd, '../script.sh'), `${prologue}\n${script}\necho 'the page has ended'\n`);
  // The first of a group of its own, with which all ends that the page has started.
  const options = { cwd, env: { ...env }, detached: true };
  const run = new PrintingProcess('bash', ['-c', `exec 2>&1; . '${file}'`], options);
  try {
    await run.printed(/the page has ended\n/, total_ms);
    await run.exited;
  } finally {
    try {
      process.kill(-run.pid, 'SIGKILL');
    } catch {
      // All of them have ended.
    }
  }
  return run.stdout;
}

/** The lines of `expected`, in their order, with `…` for anything. */
function expectPrinted(output: string, expected: string, { document, line }: Block): void {
  const pattern = expected
    .trim()
    .split('\n')
    .filter(text => text.trim() !== '…')
    .map(text => patternOf(text.trim()).replaceAll('…', '.*'))
    .join('[^]*?');
  if (!new RegExp(pattern).test(output))
    expect({ block: `${document}:${line}`, output }).toEqual({ block: 'printed', output: expected });
}

async function portsFor(usual: readonly number[]): Promise<{
  readonly taken: Readonly<Record<string, number>>;
  readonly pattern: RegExp;
}> {
  const pairs = await Promise.all(usual.map(async port => [port, await freePort()] as const));
  const longest = usual.toSorted((one, other) => other - one).join('|');
  return {
    taken: Object.fromEntries(pairs),
    pattern: new RegExp(`(?<![\\d.])(?:${longest})(?![\\d.]\\d|\\d)`, 'g'),
  };
}

/** A folder of programs in which `sluice` is this program, as after an installation. */
function programsIn(directory: string, others: Readonly<Record<string, string>>): string {
  const folder = join(directory, 'bin');
  mkdirSync(folder);
  const node = (file: string) => `"${process.execPath}" "${join(root, file)}" "$@"`;
  const npm = `exec ${node('test/support/recipes/npm.cjs')}`;
  const gateway = node('bin/sluice.cjs');
  // Ends with the page's shell, also when that is killed: a run that is cut off leaves no gateway behind.
  const dying = `[ "$PPID" != "$RECIPE_SHELL" ] || exec ${dyingWithTests.join(' ')} ${gateway}\n`;
  const all = {
    // No function as curl is: started in the background, its process is to be the one that gets signals.
    sluice: `wait_for_named "$@" || exit 1\n${dying}exec ${gateway}`,
    npm,
    npx: '[ "$1" != --yes ] || shift; exec "$@"',
    ...others,
  };
  for (const [name, body] of Object.entries(all))
    chmodSync(written(join(folder, name), `#!/bin/bash\n${body}\n`), 0o755);
  return folder;
}

function written(file: string, text: string): string {
  writeFileSync(file, text);
  return file;
}
