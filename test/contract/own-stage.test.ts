import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Runs a file with Node's own test runner. */
const nodeTest = (file: string): Promise<{ failed: boolean; output: string }> =>
  new Promise(resolve => {
    const flags = ['--conditions=sluice-source', '--test', '--test-reporter=tap'];
    execFile(
      process.execPath,
      [...flags, `test/contract/own-stage/${file}`],
      { cwd: root },
      (fault, output) => resolve({ failed: fault !== null, output }),
    );
  });

describe("a custom stage under Node's test runner", () => {
  it('passes the check', async () => {
    const { failed, output } = await nodeTest('my-stage.check.ts');
    expect(output).toContain('ok 1 - my-stage keeps the contract');
    expect(failed).toBe(false);
  });

  it('fails with the message of the breach', async () => {
    const { failed, output } = await nodeTest('broken.check.ts');
    expect(output).toContain(
      'loses-the-tail: does not hand on what the upstream sent: finish_reason of choice 0',
    );
    expect(failed).toBe(true);
  });
});
