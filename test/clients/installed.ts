import { readdirSync, writeFileSync } from 'node:fs';
import { run } from 'node:test';
import { fileURLToPath } from 'node:url';
// Before any library is loaded.
import './network-watch.ts';
import { Report } from './report.ts';

/** Tests every installed library in this process, prints a table and writes the counts to a file. Resolves with whether all is well. */
export async function runInstalled({
  json,
  match,
}: {
  json?: string | undefined;
  match?: string | undefined;
}): Promise<boolean> {
  const folder = fileURLToPath(new URL('tests/', import.meta.url));
  const files = readdirSync(folder)
    .sort()
    .map(name => folder + name);
  const report = new Report();
  const tests = run({ files, isolation: 'none', ...(match && { testNamePatterns: match }) });
  tests.on('test:start', data => report.started(data));
  tests.on('test:pass', data => report.ended(data));
  tests.on('test:fail', data => report.ended(data));
  tests.resume();
  await new Promise(resolve => tests.once('end', resolve));
  const { passed, failed } = report.counts;
  process.stdout.write(
    `${[...report.failures, report.table(), `${passed} passed, ${failed} failed`].join('\n')}\n`,
  );
  if (json) writeFileSync(json, JSON.stringify(report.counts));
  return failed === 0 && passed > 0;
}
