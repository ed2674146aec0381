import { writeFileSync } from 'node:fs';
import { listOf, numberFrom } from '../command-options.ts';
import { disturbance, gateway_core, load_core, machineText, thisMachine } from '../machine.ts';
import { defineTool } from '../tool.ts';
import { chatBody, completion } from './conversation.ts';
import { type Entry, events_per_second, type MeasureOptions, measureAll, started } from './measurement.ts';
import { benchPlace } from './place.ts';
import { doubts, tableText } from './result-table.ts';
import { tables } from './tables.ts';

const about =
  'Linux with taskset and two cores. A Markdown table on stdout, progress on stderr. Portkey is fetched from npm.';

/** The benchmark of one table: all its contestants take turns under load. */
export const tableTool = (name: string) => {
  const { contestants, ...table } = tables[name]!;
  const named = Object.fromEntries(contestants.map(each => [each.name, each]));
  return defineTool<MeasureOptions & { only?: typeof contestants; json?: string }>({
    about,
    options: command =>
      command
        .option('--seconds <N>', 'length of one measurement', numberFrom(0.1, 600, false), 1)
        .option('--rounds <N>', 'measurements per contestant, interleaved', numberFrom(1, 5000), 9)
        .option('--connections <N>', 'of a closed loop; 0 measures no requests', numberFrom(0, 5000), 32)
        .option(
          '--streams <N>',
          `at the same time, ${events_per_second} events per second each; 0 measures none`,
          numberFrom(0, 5000),
          200,
        )
        .option('--only <A,B>', `of ${Object.keys(named).join(', ')}`, listOf(named))
        .option('--json <FILE>', 'write every single measurement to FILE as well'),
    async run({ options, command }) {
      const machine = thisMachine();
      const chosen = options.only ?? contestants;
      const place = await benchPlace();
      const entries: Entry[] = [];
      for (const contestant of chosen) entries.push(await started(contestant, place));
      await measureAll(entries, options, place.upstream.pid);
      const notes = [...howMeasured(options), ...disturbance(machine), ...entries.flatMap(doubts)];
      const texts = [
        `${machineText(machine)}\n\`${command}\``,
        tableText(table, entries),
        notes.map(line => `- ${line}`).join('\n'),
      ];
      process.stdout.write(`${texts.join('\n\n')}\n`);
      const measured = entries.map(({ contestant, gateway: _, ...rest }) => ({
        name: contestant.name,
        ...rest,
      }));
      if (options.json) writeFileSync(options.json, JSON.stringify({ machine, command, measured }, null, 2));
      return true;
    },
  });
};

const howMeasured = ({ rounds, seconds, connections, streams }: MeasureOptions): string[] => [
  `Gateways on core ${gateway_core}, one at a time under load; load generator and upstream on core ${load_core}; medians, of ratios too, of ${rounds} interleaved rounds of ${seconds} s after one that is thrown away.`,
  `Requests: closed loop, ${connections} connections, ${chatBody().length} bytes of JSON in, ${completion.length} out. Events: ${streams} streams of ${events_per_second} events per second. CPU: user and system time of all threads and processes of the gateway. Every reply is checked.`,
];
