import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { linkPackages, lockedPackages } from '../linked-packages.ts';
import { root } from './blocks.ts';

/** A mistake that the compiler found. */
interface TypeFault {
  /** Path in the project. */
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

/** Those of a strict project that Node runs unbuilt. */
const compilerOptions = {
  target: 'es2024',
  lib: ['es2024', 'esnext.disposable'],
  module: 'nodenext',
  moduleDetection: 'force',
  types: ['node'],
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  erasableSyntaxOnly: true,
  verbatimModuleSyntax: true,
  allowImportingTsExtensions: true,
  noEmit: true,
  skipLibCheck: true,
};

/**
 * A TypeScript project of a user, with the package's declarations as they are published and the packages that come with it. Files in the
 * folder `application` find what is installed here for tests as well, such as express.
 */
export class UserProject {
  readonly directory = mkdtempSync(join(tmpdir(), 'sluice-user-'));
  /** The package as the project has it. */
  readonly package = join(this.directory, 'node_modules/sluice');

  constructor() {
    const [ofProject, others] = [[] as string[], [] as string[]];
    for (const [name, { dev }] of lockedPackages())
      (!dev || name === '@types/node' || name === 'undici-types' ? ofProject : others).push(name);
    linkPackages(ofProject, join(this.directory, 'node_modules'));
    linkPackages(others, join(this.directory, 'application/node_modules'));
    writeFileSync(join(this.directory, 'package.json'), '{"type":"module"}');
    // Unchecked, which `npm run typecheck` does and takes four times as long.
    const options = ['--emitDeclarationOnly', '--noCheck', '--sourceMap', 'false'];
    const faults = this.#compile([
      ...['-p', join(root, 'tsconfig.build.json')],
      ...options,
      ...['--outDir', join(this.package, 'dist')],
    ]);
    if (faults !== '') throw new Error(faults);
    copyFileSync(join(root, 'package.json'), join(this.package, 'package.json'));
  }

  /** Writes files, by their paths in the project, as one program. */
  write(files: ReadonlyMap<string, string>): void {
    for (const [path, text] of files) {
      const file = join(this.directory, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
    const config = { compilerOptions, files: [...files.keys()] };
    writeFileSync(join(this.directory, 'tsconfig.json'), JSON.stringify(config));
  }

  /** Compiles the same. */
  faultsOf(files: ReadonlyMap<string, string>): TypeFault[] {
    this.write(files);
    const output = this.#compile(['-p', '.', '--pretty', 'false']);
    return output.split('\n').flatMap((text): TypeFault[] => {
      const [, file = '', line, message = text] = /^(.+?)\((\d+),\d+\): error (.*)$/.exec(text) ?? [];
      return file !== '' || /^error /.test(text) ? [{ file, line: Number(line ?? 0), message }] : [];
    });
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }

  #compile(options: readonly string[]): string {
    const compiler = join(root, 'node_modules/typescript/bin/tsc');
    const { error, stdout } = spawnSync(process.execPath, [compiler, ...options], {
      cwd: this.directory,
      encoding: 'utf8',
      timeout: 80_000,
    });
    if (error) throw error;
    return stdout;
  }
}
