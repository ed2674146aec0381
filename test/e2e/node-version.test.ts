import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from '@jest/globals';

const root = fileURLToPath(new URL('../../', import.meta.url));
const { bin, scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly bin: { readonly sluice: string };
  readonly scripts: { readonly start: string };
};
const directory = mkdtempSync(join(tmpdir(), 'sluice-node-'));
afterAll(() => rmSync(directory, { recursive: true }));

/** Runs the command's entry, in a Node that says that it is `version`. */
function run(version: string, ...args: string[]): Promise<{ code: unknown; stdout: string; stderr: string }> {
  const preload = join(directory, `${version}.cjs`);
  writeFileSync(
    preload,
    `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } });\n`,
  );
  const node = ['--require', preload, '--conditions=sluice-source', join(root, bin.sluice), ...args];
  return new Promise(resolve => {
    execFile(process.execPath, node, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stdout, stderr }),
    );
  });
}

describe('the sluice command', () => {
  it.each(['0.12.18', '22.1.0', '23.11.0'])(
    'reports that Node %s is too old, and what to do',
    async version => {
      expect(await run(version, '--help')).toEqual({
        code: 1,
        stdout: '',
        stderr: `sluice needs Node 24 or newer; this is Node ${version} (${process.execPath}). Install one from https://nodejs.org, or let npm bring it: npx --package node@24 --package sluice sluice\n`,
      });
    },
  );

  it('runs on the Node version that it requires', async () => {
    const { code, stdout, stderr } = await run('24.0.0', '--help');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('sluice check --config FILE');
  });

  it('starts through the same entry with npm start', () => {
    expect(scripts.start).toBe(`node --conditions=sluice-source ${bin.sluice.replace('./', '')}`);
  });
});
