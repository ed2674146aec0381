import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { blocksOf, read } from '../support/documents/blocks.ts';
import { type SidecarProcess, startDemo } from '../support/sidecar-process.ts';

let demo: SidecarProcess;
let directory: string;

beforeAll(async () => {
  demo = await startDemo();
  directory = await mkdtemp(join(tmpdir(), 'sluice-trouble-'));
});
afterAll(async () => {
  await demo?.stop();
  await rm(directory, { recursive: true, force: true });
});

/** Runs a command of the page at the addresses of this demo, beside its log. Returns what it prints. */
async function run(line: string): Promise<string> {
  await writeFile(join(directory, 'sluice.log'), demo.output());
  const placed = line
    .replace('http://127.0.0.1:8080', demo.url)
    .replace('http://127.0.0.1:8081', demo.adminUrl);
  return (await promisify(execFile)('sh', ['-ec', placed], { cwd: directory })).stdout;
}

describe('the task of the page about trouble', () => {
  it('leads from a request id to its cause in three commands', async () => {
    const [, task] = blocksOf('', read('docs/troubleshooting.md'));
    const [ask = '', search = '', count = ''] = task!.code.trim().split('\n');
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
