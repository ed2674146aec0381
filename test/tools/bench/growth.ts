import { listOf, numberFrom } from '../command-options.ts';
import { disturbance, machineText, thisMachine } from '../machine.ts';
import { defineTool, say } from '../tool.ts';
import { type Figures, growthText, tooSteep } from './growth-table.ts';
import { growthTables } from './growth-tables.ts';
import { benchPlace } from './measurement.ts';

const tables = Object.values(growthTables);

/** What one sidecar costs against the size of what it is given. */
export const tool = defineTool<{ tables: typeof tables; most: number }>({
  about:
    'Linux with taskset and two cores. Tables in Markdown on stdout, progress on stderr; exit code 1 when something grows faster than it should.',
  options: command =>
    command
      .option('--tables <A,B>', `of ${Object.keys(growthTables).join(', ')}`, listOf(growthTables), tables)
      .option('--most <N>', 'no sizes above this', numberFrom(1, 1e9), 1e9),
  async run({ options, command }) {
    const machine = thisMachine();
    const { upstream } = await benchPlace();
    const faults: string[] = [];
    process.stdout.write(`${machineText(machine)}\n\`${command}\`\n`);
    for (const table of options.tables) {
      const figures: Figures[0][] = [];
      for (const size of table.sizes.filter(each => each <= options.most)) {
        const values = await table.measure(size, upstream.port);
        say(`${table.title}, ${size}: ${values.map(value => value.toFixed(1)).join(', ')}`);
        figures.push({ size, values });
      }
      process.stdout.write(`\n${growthText(table, figures)}\n`);
      faults.push(...tooSteep(table, figures));
    }
    for (const note of [...disturbance(machine), ...faults]) process.stdout.write(`\n- ${note}\n`);
    return faults.length === 0;
  },
});
