import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { runCommandLine } from '../../../../src/cli/program.ts';
import { openRecords } from '../../../support/open-records.ts';
import { sampleConfig } from '../config/sample-config.ts';
import { sampleRow } from '../mount/ledger/sample-row.ts';

let directory: string;
let file: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sluice-tags-'));
  file = join(directory, 'sluice.json');
  const config = sampleConfig({
    stores: { records: 'sqlite:./sluice.db' },
    tags: { team: ['a', 'b c'], product: ['x'] },
    accounts: { tester: { keys: [{ value: '${NOT_SET}', name: 'ci', tags: { team: 'b c' } }] } },
  });
  await writeFile(file, JSON.stringify(config));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

async function run(...args: readonly string[]): Promise<string> {
  const said: string[] = [];
  const voice = { print: (text: string) => said.push(text), remark: () => {} };
  await runCommandLine([...args, '--config', file], voice);
  return said.join('\n');
}

it('tags keys and sums up usage by the tags that they have now', async () => {
  await run('keys', 'create', '--account', 'tester', '--tag', 'team=a', '--tag', 'product=x');
  const [key] = JSON.parse(await run('keys', 'list', '--format', 'json'));
  expect(key.tags).toBe('team=a,product=x');
  const store = await openRecords(`sqlite:${join(directory, 'sluice.db')}`);
  const rows = [key.id, 'tester/ci', null].map((key_id, at) => ({
    ...sampleRow(),
    id: `row-${at}`,
    key_id,
    account: 'tester',
  }));
  await store.ledger.insert(rows);
  await store.close();
  const by = async () =>
    (await run('usage', '--by', 'tag:team', '--from', '2026-11-01', '--csv'))
      .split('\n')
      .map(line => line.split(',').slice(0, 2).join());
  expect(await by()).toEqual(['tag:team,requests', '(none),1', 'a,1', 'b c,1']);
  expect(await run('keys', 'set-tags', key.id, 'team=b c')).toContain('has the tags team=b c');
  expect(await by()).toEqual(['tag:team,requests', '(none),1', 'b c,2']);
  expect(await run('keys', 'set-tags', key.id, '-')).toContain('has the tags (none)');
});

it('takes the tags of keys that were made elsewhere, if they are listed', async () => {
  const keys = join(directory, 'keys.jsonl');
  const lineOf = (team: string) =>
    JSON.stringify({ account: 'tester', name: 'elsewhere', sha256: 'ab'.repeat(32), tags: { team } });
  await writeFile(keys, lineOf('z'));
  await expect(run('keys', 'import', keys)).rejects.toThrow("no value of the tag team 'z'");
  await writeFile(keys, lineOf('a'));
  await run('keys', 'import', keys);
  const listed: { name: string; tags: string }[] = JSON.parse(await run('keys', 'list', '--format', 'json'));
  expect(listed.find(({ name }) => name === 'elsewhere')!.tags).toBe('team=a');
});

it.each([
  [
    ['keys', 'create', '--account', 'tester', '--tag', 'team=z'],
    "tags: there is no value of the tag team 'z'",
  ],
  [
    ['keys', 'create', '--account', 'tester', '--tag', 'teem=a'],
    "there is no tag 'teem'; did you mean 'team'?",
  ],
  [['keys', 'create', '--account', 'tester', '--tag', 'team'], 'a tag must be NAME=VALUE'],
  [['keys', 'set-tags', 'key_1', 'constructor=x'], "there is no tag 'constructor'"],
  [['usage', '--by', 'tag:nobody'], "there is no tag 'nobody'"],
])('refuses %j', async (args, message) => {
  await expect(run(...args)).rejects.toThrow(message);
});
