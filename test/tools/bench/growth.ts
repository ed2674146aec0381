/** `npm run bench:growth`: what one sidecar costs against the size of what it is given, as Markdown tables. */
import { Command } from 'commander';
import { listOf, numberFrom } from '../command-options.ts';
import { disturbance, load_core, machineText, moveTo, thisMachine } from '../machine.ts';
import { startUpstream } from './growth-load.ts';
import { type Figures, growthText, tooSteep } from './growth-table.ts';
import { growthTables } from './growth-tables.ts';
import { say } from './measurement.ts';

const options = new Command('npm run bench:growth --')
  .description(
    'Linux with taskset and two cores. Tables in Markdown on stdout, progress on stderr; exit code 1 when something grows faster than it should.',
  )
  .option('--tables <A,B>', `of ${Object.keys(growthTables(0)).join(', ')} (default: all)`)
  .option('--most <N>', 'no sizes above this', numberFrom(1, 1e9), 1e9)
  .parse()
  .opts<{ tables?: string; most: number }>();

async function main(): Promise<readonly string[]> {
  const machine = thisMachine();
  const tables = growthTables(await startUpstream());
  const chosen = listOf(tables)(options.tables ?? Object.keys(tables).join(','));
  moveTo(load_core, process.pid);
  const faults: string[] = [];
  const command = ['npm run bench:growth --', ...process.argv.slice(2)].join(' ');
  process.stdout.write(`${machineText(machine)}\n\`${command}\`\n`);
  for (const table of chosen) {
    const figures: Figures[0][] = [];
    for (const size of table.sizes.filter(each => each <= options.most)) {
      const values = await table.measure(size);
      say(`${table.title}, ${size}: ${values.map(value => value.toFixed(1)).join(', ')}`);
      figures.push({ size, values });
    }
    await table.end?.();
    process.stdout.write(`\n${growthText(table, figures)}\n`);
    faults.push(...tooSteep(table, figures));
  }
  for (const note of [...disturbance(machine), ...faults]) process.stdout.write(`\n- ${note}\n`);
  return faults;
}

main().then(
  faults => process.exit(faults.length > 0 ? 1 : 0),
  (error: Error) => {
    say(error.stack ?? error.message);
    process.exit(1);
  },
);
