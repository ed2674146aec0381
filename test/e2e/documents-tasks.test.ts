import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { blocksOf, read } from '../support/documents/blocks.ts';
import { pathOf } from '../support/programs.ts';
import { type SidecarProcess, startDemo } from '../support/sidecar-process.ts';

let demo: SidecarProcess;
let directory: string;

beforeAll(async () => {
  // What the pages ask with.
  pathOf('curl');
  demo = await startDemo();
  directory = await mkdtemp(join(tmpdir(), 'sluice-tasks-'));
});
afterAll(async () => {
  await demo?.stop();
  await rm(directory, { recursive: true, force: true });
});

/** The lines of the first block of commands of a page that has `text` in it. */
const commandsOf = (page: string, text: string): string[] => {
  const block = blocksOf(page, read(page)).find(
    ({ language, code }) => language === 'sh' && code.includes(text),
  );
  return block!.code.trim().split('\n');
};

/** Runs a command of a page at the addresses of this demo, beside its log. Returns what it prints. */
async function run(line: string): Promise<string> {
  await writeFile(join(directory, 'sluice.log'), demo.output());
  const placed = line
    .replace('http://127.0.0.1:8080', demo.url)
    .replace('http://127.0.0.1:8081', demo.adminUrl);
  return (await promisify(execFile)('sh', ['-ec', placed], { cwd: directory })).stdout;
}

describe('the task of the page about trouble', () => {
  it('leads from a request id to its cause in three commands', async () => {
    const [ask = '', search = '', count = ''] = commandsOf('docs/troubleshooting.md', 'try-1');
    expect(JSON.parse(await run(ask)).error.message).toBe('The upstream provider returned an error.');
    expect(JSON.parse(await run(search))).toMatchObject({
      request_id: 'try-1',
      code: 'provider_error',
      model: 'aion-labs/aion-3.5',
      account: 'demo',
      err: { message: expect.stringContaining('upstream status 500') },
    });
    expect(await run(count)).toContain('kind="status"} 1\n');
  });
});

describe('the task of the page about security', () => {
  it('shows that a stranger is refused in three ways', async () => {
    const statuses = await Promise.all(commandsOf('docs/security.md', 'attacker.example').map(run));
    expect(statuses).toEqual(['401\n', '404\n', '421\n']);
  });
});
