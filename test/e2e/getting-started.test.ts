import { spawn } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { blocksOf, read, root } from '../support/documents/blocks.ts';
import { freePort } from '../support/free-port.ts';
import { pathOf } from '../support/programs.ts';

const page = 'docs/tutorial.md';
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sluice-start-'));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

/** Folders of programs in which `sluice` is this program, as after an installation. */
async function programs(): Promise<string> {
  const folder = join(directory, 'bin');
  await mkdir(folder);
  const command = `exec "${process.execPath}" --conditions=sluice-source "${join(root, 'bin/sluice.cjs')}" "$@"`;
  await writeFile(join(folder, 'sluice'), `#!/bin/sh\n${command}\n`);
  await chmod(join(folder, 'sluice'), 0o755);
  return `${folder}:${dirname(process.execPath)}:${process.env.PATH}`;
}

/** The commands of the page as one script, at free ports in place of the usual ones. */
async function script(): Promise<string> {
  const blocks = blocksOf(page, read(page)).filter(({ language, notRun }) => language === 'sh' && !notRun);
  const [provider, port, adminPort] = await Promise.all([freePort(), freePort(), freePort()]);
  const placed = blocks
    .map(({ code }) => code)
    .join('\n')
    .replaceAll('8000', `${provider}`)
    .replaceAll('8080', `${port}`)
    .replaceAll('8081', `${adminPort}`)
    .replace('\nadmin:\n', `\nserver: { port: ${port}, unready_ms: 0 }\nadmin:\n  port: ${adminPort}\n`);
  // The provider of the page has begun when its next command is typed.
  const begun = `curl -s -o models.json --retry 20 --retry-connrefused --retry-delay 1 http://127.0.0.1:${provider}/v1/models\n`;
  return placed.replace(/^sluice init/m, `${begun}$&`);
}

describe('the page for beginners', () => {
  it('leads to a streamed answer, its usage, the metrics and a limit by pasting its commands', async () => {
    pathOf('curl');
    const { NODE_COMPILE_CACHE } = process.env;
    const child = spawn('bash', ['-e'], {
      cwd: directory,
      env: { PATH: await programs(), HOME: directory, NODE_COMPILE_CACHE },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    child.stdin.end(`${await script()}\nwait\necho ended\n`);
    const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
    const lines = output.trimEnd().split('\n');
    expect({ last: lines.at(-1), errors }).toEqual({ last: 'ended', errors: expect.any(String) });
    expect(output).toContain('sluice.yaml: ok; ');
    expect(output).toContain('\nno faults, ');
    expect(lines.filter(line => line.startsWith('data: {')).length).toBeGreaterThan(10);
    expect(lines).toContain('data: [DONE]');
    expect(output).toMatch(/^vllm\/\S+ .*1 /m);
    expect(output).toMatch(/^sluice_requests_total\{endpoint="chat.completions".*status="200".*\} 1$/m);
    expect(lines).toEqual(expect.arrayContaining(['first: 200', 'second: 429']));
    expect(output).toContain('Rate limit exceeded: 1 request per minute for this API key.');
  });
});
