import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '../processes.ts';
import type { Mutant } from './operators.ts';

/** Beyond what all tests take without a bug: one that makes them run for ever is noticed as well. */
const further_patience_ms = 60_000;
/** A bug may leave every test of a file waiting; no quick one takes long without it. */
const quick_test_ms = 20_000;
const types_project = 'tsconfig.mutants.json';

/** A bug in a file. */
export interface Place extends Mutant {
  readonly file: string;
}

/** A bug is noticed by one of these, tried in this order, or by none. */
export type Witness = 'tests' | 'types';

/** The tests of a file in the order in which they are tried. */
type Groups = (file: string) => { readonly quick: string[][]; readonly slow: string[][] };

/** A copy of the files in which bugs are put, removed at the end of this process. */
export class MutantTree {
  readonly #tree: string;
  readonly #groupsOf: Groups;
  #patience_ms = 1_800_000;

  constructor(files: readonly string[], groupsOf: Groups) {
    this.#groupsOf = groupsOf;
    this.#tree = mkdtempSync(join(tmpdir(), 'sluice-mutants-'));
    process.once('exit', () => rmSync(this.#tree, { recursive: true, force: true }));
    for (const file of files) cpSync(join(root, file), join(this.#tree, file));
    symlinkSync(join(root, 'node_modules'), join(this.#tree, 'node_modules'));
    // What a bug leaves unused is no error of types.
    const compilerOptions = { incremental: true, noUnusedLocals: false, noUnusedParameters: false };
    const project = { extends: './tsconfig.json', compilerOptions, include: ['src', 'plugins'] };
    writeFileSync(join(this.#tree, types_project), JSON.stringify(project));
  }

  /** Rejects when a test of these places fails without a bug: it would notice every one. */
  async assertWhole(places: readonly Place[]): Promise<void> {
    if (!(await this.#compiles())) throw new Error('the type check fails without any bug');
    const began_ms = performance.now();
    const groups = places.map(({ file }) => this.#groupsOf(file));
    const all = new Set(groups.flatMap(({ quick, slow }) => [...quick, ...slow].flat()));
    if (all.size > 0 && !(await this.#passes([...all], [])))
      throw new Error(`a test fails without any bug, of: ${[...all].join(' ')}`);
    this.#patience_ms = performance.now() - began_ms + further_patience_ms;
  }

  /** What notices the bug; undefined if nothing does. */
  async witnessOf({ file, start, end, text }: Place): Promise<Witness | undefined> {
    const path = join(this.#tree, file);
    const source = readFileSync(path);
    const { quick, slow } = this.#groupsOf(file);
    writeFileSync(path, Buffer.concat([source.subarray(0, start), Buffer.from(text), source.subarray(end)]));
    try {
      for (const group of quick)
        if (!(await this.#passes(group, ['--testTimeout', String(quick_test_ms)]))) return 'tests';
      if (!(await this.#compiles())) return 'types';
      for (const group of slow) if (!(await this.#passes(group, []))) return 'tests';
      return undefined;
    } finally {
      writeFileSync(path, source);
    }
  }

  /** Whether these tests pass, with these options of jest. */
  #passes(group: readonly string[], options: readonly string[]): Promise<boolean> {
    const jest = ['--experimental-vm-modules', '--no-warnings', 'node_modules/jest/bin/jest.js'];
    const flags = ['--bail', '--silent', '--forceExit', ...options];
    return this.#succeeds([...jest, ...flags, '--runTestsByPath', ...group]);
  }

  /** Whether the sources pass the type check. */
  #compiles(): Promise<boolean> {
    return this.#succeeds(['node_modules/typescript/bin/tsc', '-p', types_project]);
  }

  /** Whether a script ends well, and in time. */
  #succeeds(args: readonly string[]): Promise<boolean> {
    const child = spawn(process.execPath, args, { cwd: this.#tree, stdio: 'ignore', detached: true });
    return new Promise(resolve => {
      const timer = setTimeout(() => process.kill(-child.pid!, 'SIGKILL'), this.#patience_ms);
      child.once('exit', code => {
        clearTimeout(timer);
        resolve(code === 0);
      });
    });
  }
}
