import { exitCodeOf } from '../../src/cli/command.ts';
import { runCommandLine } from '../../src/cli/program.ts';
import type { FinishedCommand } from './sidecar-process.ts';

/**
 * `sluice ARGUMENTS` to its end in this process, with these variables set meanwhile: what it prints, and the exit code that its process would
 * have. For commands that end by themselves; a process of its own takes 0.7 s of CPU each time.
 */
export async function runHere(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<FinishedCommand> {
  const told = { stdout: '', stderr: '' };
  const remark = (text: string) => void (told.stderr += `${text}\n`);
  const before = Object.keys(environment).map(name => [name, process.env[name]] as const);
  Object.assign(process.env, environment);
  try {
    await runCommandLine(args, { print: text => void (told.stdout += `${text}\n`), remark });
    return { code: 0, ...told };
  } catch (thrown) {
    if ((thrown as Error).message !== '') remark((thrown as Error).message);
    return { code: exitCodeOf(thrown), ...told };
  } finally {
    for (const [name, value] of before)
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
  }
}
