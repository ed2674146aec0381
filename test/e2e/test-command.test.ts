import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { commandsOf } from '../run.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const { scripts } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as {
  scripts: Record<string, string>;
};

/** `npm test` over files of fixtures, in one process, where the path is empty. */
function run(files: string, environment: NodeJS.ProcessEnv = {}): Promise<{ code: number; output: string }> {
  const [, ...words] = scripts.test!.split(' ');
  const match = `<rootDir>/test/fixtures/test-command/${files}`;
  const { HOME, TMPDIR } = process.env;
  const env = { HOME, TMPDIR, PATH: '', ...environment };
  const args = [...words, '--runInBand', '--verbose', '--testMatch', match];
  return new Promise(resolve =>
    execFile(process.execPath, args, { cwd: root, env }, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), output: stdout + stderr }),
    ),
  );
}

describe('the test command where only git, npm and Node are installed', () => {
  it('passes, counts what it leaves out for want of a program, names what installs it, and gives each file the process as it was', async () => {
    const environment = { TAKEN_BY_A_TEST: 'no', STARTED_IN: root.replace(/\/$/, '') };
    const { code, output } = await run('*.ts', environment);
    expect(output).toContain('4 skipped, 3 passed, 7 total');
    expect(output).toMatch(
      /4 tests were left out: caddy, chromium, curl, .*redis-server are not installed\.\n.*apt-get install caddy chromium curl .*prometheus redis-server\n/,
    );
    expect(code).toBe(0);
  });

  it('fails in CI, where nothing may be left out', async () => {
    const { code, output } = await run('needs-programs.ts', { CI: 'true' });
    expect(output).toContain('4 failed, 1 passed, 5 total');
    expect(output).toContain('redis-server is not installed: apt-get install redis-server');
    expect(code).toBe(1);
  });
});

it('runs the client libraries after jest, and with arguments jest alone', () => {
  const clients = scripts.clients!.split(' ').slice(1);
  expect(commandsOf([])).toEqual([...commandsOf(['x']).map(words => words.slice(0, -1)), clients]);
});
