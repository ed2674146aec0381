import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

// The libraries have thousands of modules.
enableCompileCache(fileURLToPath(new URL('../../node_modules/.cache/node', import.meta.url)));

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'string' }, match: { type: 'string' }, programs: { type: 'boolean' } },
});

if (values.programs || positionals.length > 0) {
  const { runPrograms } = await import('./programs/run.ts');
  await runPrograms(positionals);
} else {
  const { runInstalled } = await import('./installed.ts');
  if (!(await runInstalled(values))) process.exitCode = 1;
}
