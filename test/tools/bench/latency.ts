import { numberFrom } from '../command-options.ts';
import { markdownTable, median } from '../figures.ts';
import { disturbance, machineText, thisMachine } from '../machine.ts';
import { defineTool, say } from '../tool.ts';
import { direct, proxy } from './contestants.ts';
import { type Entry, measureAll, started } from './measurement.ts';
import { benchPlace } from './place.ts';
import { measureAtRate } from './rate-load.ts';
import { sluice } from './sluice-contestants.ts';

interface Options {
  readonly rounds: number;
  readonly seconds: number;
  readonly rate?: number;
}

/** A gateway, and its latencies in every round, in ms. */
interface Row {
  readonly entry: Entry;
  readonly p50_ms: number[];
  readonly p99_ms: number[];
}

/** What gateways add to the time of a reply, at a rate that they can bear. */
export const tool = defineTool<Options>({
  about:
    'Linux with taskset and two cores. Finds out how many requests per second the sidecar answers, and sends a third of that without waiting for replies. A table in Markdown on stdout.',
  options: command =>
    command
      .option('--rounds <N>', 'rounds in which the gateways take turns', numberFrom(1, 1000), 7)
      .option('--seconds <N>', 'length of one measurement', numberFrom(0.5, 600, false), 2)
      .option('--rate <N>', 'requests per second (default: that third)', numberFrom(1, 100_000)),
  async run({ options, command }) {
    const machine = thisMachine();
    const place = await benchPlace();
    const rows: Row[] = [];
    for (const contestant of [direct, proxy(), sluice]) {
      const entry = await started(contestant, place);
      if (entry.fault) throw new Error(`${contestant.name}: ${entry.fault}`);
      rows.push({ entry, p50_ms: [], p99_ms: [] });
    }
    const entries = rows.map(({ entry }) => entry);
    const rate = options.rate ?? (await thirdOfMost(entries, place.upstream.pid));
    await measureRows(rows, rate, options);
    const texts = [`${machineText(machine)}\n\`${command}\``, tableText(rows, rate), ...disturbance(machine)];
    process.stdout.write(`${texts.join('\n\n')}\n`);
    return true;
  },
});

/** A third of the requests per second that the sidecar answers in a closed loop; all gateways are warm after it. */
async function thirdOfMost(entries: readonly Entry[], upstream_pid: number): Promise<number> {
  await measureAll(entries, { rounds: 2, seconds: 1, connections: 32, streams: 0 }, upstream_pid);
  for (const { contestant, fault } of entries) if (fault) throw new Error(`${contestant.name}: ${fault}`);
  const { requests } = entries.find(({ contestant }) => contestant === sluice)!;
  return Math.round(median(requests.map(({ count, seconds }) => count / seconds)) / 3);
}

/** Measures all in turn; the first round is thrown away. */
async function measureRows(rows: readonly Row[], rate: number, { rounds, seconds }: Options): Promise<void> {
  for (let round = 0; round <= rounds; round++)
    for (const { entry, p50_ms, p99_ms } of rows) {
      const origin = `http://127.0.0.1:${entry.gateway!.port}`;
      const { p50, p99 } = await measureAtRate({ origin, rate, measure_ms: seconds * 1000 });
      say(`round ${round} ${entry.contestant.name}: ${p99.toFixed(2)} ms`);
      if (round === 0) continue;
      p50_ms.push(p50);
      p99_ms.push(p99);
    }
}

/** The medians of every gateway; what it adds is the median over the rounds. */
function tableText(rows: readonly Row[], rate: number): string {
  const [reference] = rows;
  const lines = rows.map(({ entry, p50_ms, p99_ms }) => {
    const added = p99_ms.map((ms, round) => ms - reference!.p99_ms[round]!);
    const cells = [p50_ms, p99_ms, ...(entry === reference!.entry ? [] : [added])];
    return [entry.contestant.title, ...cells.map(values => median(values).toFixed(2))];
  });
  const table = markdownTable(['Gateway', 'p50 ms', 'p99 ms', 'added, p99 ms'], lines);
  return `**Added latency** at ${rate} requests/s\n\n${table}`;
}
