import { execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { optionTypeFiles } from '../../../build/option-types.ts';
import { patience_ms } from '../../support/until.ts';
import type { Mutant } from './operators.ts';

const types_project = 'tsconfig.mutants.json';

/** The tracked files below `paths`. */
export const tracked = (...paths: readonly string[]): string[] =>
  execFileSync('git', ['ls-files', ...paths], { encoding: 'utf8' })
    .split('\n')
    .filter(Boolean);

/** A copy of the tracked files, as they are in the working tree, into which bugs are put. Removed when the process ends. */
export class MutatedTree {
  readonly #root = mkdtempSync(join(tmpdir(), 'sluice-mutants-'));

  /** Ends what runs in the copy. */
  #kill = () => {};

  constructor() {
    process.on('exit', () => {
      this.#kill();
      rmSync(this.#root, { recursive: true, force: true });
    });
    for (const file of [...tracked(), ...optionTypeFiles().keys()]) cpSync(file, join(this.#root, file));
    symlinkSync(join(process.cwd(), 'node_modules'), join(this.#root, 'node_modules'));
    // What a bug leaves unused is no error of types.
    const compilerOptions = { incremental: true, noUnusedLocals: false, noUnusedParameters: false };
    const project = { extends: './tsconfig.json', compilerOptions, include: ['src', 'plugins'] };
    writeFileSync(join(this.#root, types_project), JSON.stringify(project));
  }

  /** Runs `work` while the bug is in the file. */
  async with<T>(file: string, { start, end, text }: Mutant, work: () => Promise<T>): Promise<T> {
    const path = join(this.#root, file);
    const source = readFileSync(path);
    writeFileSync(path, Buffer.concat([source.subarray(0, start), Buffer.from(text), source.subarray(end)]));
    try {
      return await work();
    } finally {
      writeFileSync(path, source);
    }
  }

  /** Runs test files one after the other, up to the first that fails. Resolves with those that failed, or `late` if they were cut off. */
  async test(files: readonly string[], limit_ms: number, ...options: readonly string[]) {
    const jest = ['--experimental-vm-modules', '--no-warnings', 'node_modules/jest/bin/jest.js'];
    const run = ['--bail', '--silent', '--forceExit', '--maxWorkers=1', ...options, '--runTestsByPath'];
    const { code, said } = await this.#run([...jest, ...run, ...files], limit_ms);
    if (code === 0) return [];
    const failed = [...said.matchAll(/^FAIL (\S+)/gm)].map(([, file = '']) => file);
    if (code === 'late') return 'late' as const;
    return failed.length > 0 ? [...new Set(failed)] : files;
  }

  /** Whether the sources pass the type check. */
  async compiles(): Promise<boolean> {
    const { code } = await this.#run(['node_modules/typescript/bin/tsc', '-p', types_project], 300_000);
    return code === 0;
  }

  /** Runs a script of Node to its end; after `limit_ms`, up to twice that on a busy machine, it and its children are killed. */
  #run(args: readonly string[], limit_ms: number): Promise<{ code: number | null | 'late'; said: string }> {
    const stdio = ['ignore', 'ignore', 'pipe'] as const;
    const child = spawn(process.execPath, args, { cwd: this.#root, stdio: [...stdio], detached: true });
    let said = '';
    let isLate = false;
    this.#kill = () => process.kill(-child.pid!, 'SIGKILL');
    child.stderr!.setEncoding('utf8').on('data', text => {
      said += text;
    });
    const late = () => {
      isLate = true;
      this.#kill();
    };
    const timer = setTimeout(late, patience_ms(limit_ms, 2 * limit_ms));
    return new Promise(resolve => {
      child.once('exit', code => {
        clearTimeout(timer);
        this.#kill = () => {};
        resolve({ code: isLate ? 'late' : code, said });
      });
    });
  }
}
