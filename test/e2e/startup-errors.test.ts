import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { serve } from '../../src/cli/serve.ts';
import { missingPackage } from '../../src/common/missing-package.ts';
import type { GatewayConfig } from '../../src/config/schema.ts';
import { startTracing } from '../../src/telemetry/sdk.ts';
import { read } from '../support/documents/blocks.ts';
import { patternOf } from '../support/documents/passages.ts';
import { placeOf } from '../support/open-records.ts';
import { sidecarConfig } from '../support/sidecar-process.ts';

const section = read('docs/reference/troubleshooting.md')
  .split('\n## By start-up error\n')[1]!
  .split('\n## ')[0]!;
const printed = [...section.matchAll(/^\| (`+)(.+?)\1 \|/gm)].map(([, , text]) => text!);

/** The rows of the page that are like one of the lines of `text`; `…` stands for anything. */
function rowsLike(text: string): string[] {
  const lines = text.split('\n').map(line => line.trim().replace(/ \(line \d+\): /, ': '));
  return printed.filter(row => {
    const pattern = row.split('…').map(patternOf).join('.*');
    return lines.some(line => new RegExp(`^${pattern}$`).test(line));
  });
}

let directory: string;
let taken: Server;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sluice-start-'));
  taken = createServer().listen(0, '127.0.0.1');
  await new Promise(resolve => taken.once('listening', resolve));
});
afterAll(async () => {
  taken.close();
  await rm(directory, { recursive: true, force: true });
});

/** What prevents the start of a sidecar with these sections, and these variables of the environment. */
async function faultOf(
  sections: object,
  environment: Readonly<Record<string, string>> = {},
): Promise<string> {
  const config = sidecarConfig('http://127.0.0.1:9/v1', sections as Partial<GatewayConfig>);
  return serve(config, {}, { environment }).then(
    async sidecar => {
      await sidecar.close(0);
      return 'it has started';
    },
    thrown => (thrown as Error).message,
  );
}

/** A SQLite store that a newer version has migrated. */
async function newerStore(): Promise<string> {
  const records = `sqlite:${join(directory, 'newer.db')}`;
  const store = await placeOf(records, directory).open();
  await store.migrate(0);
  await store.close();
  const database = new DatabaseSync(join(directory, 'newer.db'));
  database.exec("INSERT INTO schema_migrations (version, name, applied_ms) VALUES (999, 'later', 0)");
  database.close();
  return records;
}

const plans = { free: { requests_per_minute: 1 } };
const absent = Object.assign(new Error("Cannot find package 'pg' imported from x"), {
  code: 'ERR_MODULE_NOT_FOUND',
});

const cases: readonly [about: string, fault: () => Promise<string> | string][] = [
  ['a port that is taken', () => faultOf({ server: { port: (taken.address() as { port: number }).port } })],
  ['an address of another machine', () => faultOf({ server: { host: '192.0.2.1' } })],
  ['a PORT that is no port', () => faultOf({ server: { port: undefined } }, { PORT: 'http' })],
  [
    'a HOST that opens a gateway without keys',
    () =>
      faultOf(
        { server: { open: true }, accounts: {}, stages: ['error-envelope', 'validation'] },
        { HOST: '0.0.0.0' },
      ),
  ],
  ['one port for both listeners', () => faultOf({ server: { port: 18_999 }, admin: { port: 18_999 } })],
  [
    "tracing without OpenTelemetry's SDK",
    () =>
      startTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' }, new Registry(), () =>
        Promise.reject(absent),
      ).then(String, thrown => thrown.message),
  ],
  ['a package that is not installed', () => `stores.records: ${missingPackage('pg', absent)}`],
  [
    'a variable that is not set',
    () => faultOf({ accounts: { demo: { keys: [{ value: '${NOT_SET_HERE}' }] } } }),
  ],
  ['stages without auth', () => faultOf({ stages: ['error-envelope', 'validation'] })],
  [
    'limits without rate-limit',
    () =>
      faultOf({
        plans,
        accounts: { demo: { plan: 'free', keys: [{ value: 'sk-12345678' }] } },
        stages: ['error-envelope', 'auth'],
      }),
  ],
  ['stages in the wrong order', () => faultOf({ plans, stages: ['error-envelope', 'rate-limit', 'auth'] })],
  ['a store in no directory', () => faultOf({ stores: { records: `sqlite:${directory}/none/sluice.db` } })],
  ['a store of a newer version', async () => faultOf({ stores: { records: await newerStore() } })],
  [
    'a queue in no directory',
    () =>
      faultOf({
        stores: { records: `sqlite:${directory}/new.db`, ledger_queue: `${directory}/none/queue.db` },
      }),
  ],
];

/** Rows of what cannot be brought about here, with what tests or shows them. */
const elsewhere = [
  /^sluice needs Node /, // test/e2e/node-version.test.ts
  /may not create it: CREATE SCHEMA/, // test/contract/records-postgres.test.ts
  /^no worker could be started/, // test/e2e/workers.test.ts
  /there is no file/, // test/e2e/check-plugins.test.ts
  /it did not open within/, // test/unit/src/records/define-records-store.test.ts
  /^listen EACCES/, // as another user than root
  /readonly database$/, // as another user than root
];

describe('what prevents the start', () => {
  const found = new Set<string>();

  it.each(cases)('is on the page about trouble: %s', async (_, fault) => {
    const text = await fault();
    const rows = rowsLike(text);
    expect({ text, rows }).toEqual({ text, rows: [expect.any(String)] });
    found.add(rows[0]!);
  });

  it('has no row on the page that is not printed', () => {
    expect(printed.filter(row => !found.has(row) && !elsewhere.some(each => each.test(row)))).toEqual([]);
  });
});
