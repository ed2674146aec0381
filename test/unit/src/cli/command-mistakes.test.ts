import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { runCommandLine } from '../../../../src/cli/program.ts';
import { sampleConfig } from '../config/sample-config.ts';

let directory: string;
let file: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sluice-commands-'));
  file = join(directory, 'sluice.json');
  const config = sampleConfig({
    stores: { records: 'sqlite:./sluice.db' },
    plans: { small: { requests_per_minute: 2 } },
    accounts: { tester: { plan: 'small' } },
  });
  await writeFile(file, JSON.stringify(config));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

/** What a command says that cannot do what it was asked, and that it did nothing else. */
async function refusalOf(args: readonly string[]): Promise<string> {
  const said: string[] = [];
  const voice = { print: (text: string) => said.push(text), remark: (text: string) => said.push(text) };
  const refused = await runCommandLine([...args, '--config', file], voice).then(
    () => 'was carried out',
    (thrown: Error) => thrown.message,
  );
  expect(said).toEqual([]);
  return refused;
}

describe('a mistyped command', () => {
  it.each<[string, RegExp]>([
    [
      'keys make',
      /^sluice keys: unknown command 'make'\n\nUsage: sluice keys [\s\S]*create[\s\S]*list[\s\S]*revoke/,
    ],
    [
      'accounts lsit',
      /^sluice accounts: unknown command 'lsit'\n\(Did you mean list\?\)\n\nUsage: sluice accounts /,
    ],
    ['keys create', /^sluice keys create: required option '-a, --account <ACCOUNT>' not specified\n/],
    [
      'keys create --account nobody',
      /^there is no account 'nobody'; make it with: sluice accounts create nobody /,
    ],
    ['keys create --account tester --expires soon', /^--expires: 'soon' is no time; use 12h, 30d, /],
    ['keys create --account tester --expires 2020-01-01', /^--expires: 2020-01-01 has passed already$/],
    ['keys create --account tester --expires 2027-02-31', /^--expires: '2027-02-31' is no time/],
    ['keys create tester', /^sluice keys create: required option '-a, --account <ACCOUNT>' not specified\n/],
    [
      'keys create tester --account tester',
      /^sluice keys create: too many arguments.* Expected 0 [\s\S]*--name/,
    ],
    ['usage --month 2026-13', /^--month must be a month such as 2026-10, not '2026-13'$/],
    ['usage --month 2026-10 --by day', /option '--month <MONTH>' cannot be used with option '--by/],
    ['keys revoke', /^sluice keys revoke: missing required argument 'ID'[\s\S]*sluice keys list/],
    ['keys revoke key_000', /^there is no key 'key_000'; ids are in: sluice keys list --all$/],
    ['keys rotate key_000', /^there is no key 'key_000'; ids are in: sluice keys list --all$/],
    ['keys rotate key_000 --overlap 1', /^--overlap: '1' is no time; use 0, 30m, 1h, 7d or 2w$/],
    ['keys revoke sk-sluice-abc', /takes the id of a key \(key_…\), not the key$/],
    [
      'keys list --acount x',
      /^sluice keys list: unknown option '--acount'\n\(Did you mean --account\?\)\n[\s\S]*--search/,
    ],
    ['keys list --limit 0', /^--limit must be a number above 0, not '0'$/],
    ['keys list --format xml', /^--format must be one of: table, csv, json; not 'xml'$/],
    ['accounts create', /^sluice accounts create: missing required argument 'NAME'\n/],
    ['accounts create -x', /^sluice accounts create: unknown option '-x'/],
    ['accounts create a\u00a0b', /^'a\u00a0b' cannot be an account's name: /],
    ['accounts create tester', /^there is an account 'tester' in the configuration already$/],
    ['accounts create new --plan huge', /^there is no plan 'huge'; there are: small$/],
    ['accounts create new --limits {', /^limits must be JSON, /],
    ['accounts create new --limits {"requests_per_minut":1}', /^limits: .*requests_per_minut/],
    [
      'accounts create new --limits {"models":{"v/none":{"requests_per_minute":1}}}',
      /^limits: there is no model 'v\/none'; there are: aion-labs\//,
    ],
    ['accounts set-plan nobody small', /^there is no account 'nobody'$/],
    ['accounts set-limits tester {}', /^account 'tester' is one of the configuration: it is changed there$/],
    [
      'usage --by week',
      /^--by must be one of: account, model, provider, key, hour, day, month, tag:NAME; not 'week'$/,
    ],
    ['usage --from 2026-11-31', /^--from must be a day in UTC such as 2026-11-20, not '2026-11-31'$/],
    ['usage --from 2026-11-02 --to 2026-11-01', /^--from 2026-11-02 is after --to 2026-11-01$/],
  ])('lists what is accepted: %j', async (line, expected) => {
    expect(await refusalOf(line.split(' '))).toMatch(expected);
  });
});
