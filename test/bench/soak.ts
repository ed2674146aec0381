/** `npm run soak`: a gateway under clients of every kind for half an hour, and whether it is as it was before. */
import { thisMachine } from './machine.ts';
import { soakOptionsOf, usage } from './soak-options.ts';
import { soakReport } from './soak-report.ts';
import { soak } from './soak-run.ts';
import { checksOf } from './soak-verdict.ts';

async function main(argv: string[]): Promise<void> {
  const options = soakOptionsOf(argv);
  if (!options) return void process.stdout.write(usage);
  // What was started ends with this process.
  process.once('SIGINT', () => process.exit(1)).once('SIGTERM', () => process.exit(1));
  const machine = thisMachine();
  const command = ['npm run soak', ...(argv.length > 0 ? ['--', ...argv] : [])].join(' ');
  const findings = await soak(options);
  const checks = checksOf(findings, options);
  process.stdout.write(soakReport(findings, checks, options, machine, command));
  if (checks.some(({ holds }) => !holds)) process.exitCode = 1;
}

main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
