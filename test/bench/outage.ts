/** `npm run outage`: a provider dies under load beside a healthy one, and comes back. */
import { thisMachine } from './machine.ts';
import { outageOptionsOf, usage } from './outage-options.ts';
import { outageChecks, outageReport } from './outage-report.ts';
import { outage } from './outage-run.ts';

async function main(argv: string[]): Promise<void> {
  const options = outageOptionsOf(argv);
  if (!options) return void process.stdout.write(usage);
  // What was started ends with this process.
  process.once('SIGINT', () => process.exit(1)).once('SIGTERM', () => process.exit(1));
  const findings = await outage(options);
  const checks = outageChecks(findings, options);
  const command = ['npm run outage', ...(argv.length > 0 ? ['--', ...argv] : [])].join(' ');
  process.stdout.write(outageReport(findings, checks, options, thisMachine(), command));
  if (checks.some(({ holds }) => !holds)) process.exitCode = 1;
}

main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
