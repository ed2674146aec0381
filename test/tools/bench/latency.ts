import { setTimeout as after } from 'node:timers/promises';
import { Pool } from 'undici';
import { numberFrom } from '../command-options.ts';
import { markdownTable, median, quantile } from '../figures.ts';
import { disturbance, machineText, thisMachine } from '../machine.ts';
import { defineTool, say } from '../tool.ts';
import { direct, proxy } from './contestants.ts';
import { benchPlace, type Entry, measureAll, started } from './measurement.ts';
import { replyTo, requestOf } from './request-load.ts';
import { sluice } from './sluice-contestants.ts';

/** Time before the latencies count: connections are opened. */
const warmup_ms = 500;

/** A gateway, and its latencies in every round, in ms. */
interface Row {
  readonly entry: Entry;
  readonly p50_ms: number[];
  readonly p99_ms: number[];
}

/** What gateways add to the time of a reply, at a rate that they can bear. */
export const tool = defineTool<{ rounds: number; seconds: number }>({
  about:
    'Linux with taskset and two cores. Finds out how many requests per second the sidecar answers, and sends a third of that without waiting for replies. A table in Markdown on stdout.',
  options: command =>
    command
      .option('--rounds <N>', 'rounds in which the gateways take turns', numberFrom(1, 1000), 7)
      .option('--seconds <N>', 'length of one measurement', numberFrom(0.5, 600, false), 2),
  async run({ options: { rounds, seconds }, command }) {
    const machine = thisMachine();
    const place = await benchPlace();
    const rows: Row[] = [];
    for (const contestant of [direct, proxy(), sluice])
      rows.push({ entry: await started(contestant, place), p50_ms: [], p99_ms: [] });
    const rate = await thirdOfMost(
      rows.map(({ entry }) => entry),
      place.upstream.pid,
    );
    // The first round is thrown away.
    for (let round = 0; round <= rounds; round++)
      for (const { entry, p50_ms, p99_ms } of rows) {
        const latencies_ms = await latenciesAt(entry.gateway!.port, rate, seconds * 1000);
        const [p50, p99] = [quantile(latencies_ms, 0.5), quantile(latencies_ms, 0.99)];
        say(`round ${round} ${entry.contestant.name}: ${p99.toFixed(2)} ms`);
        if (round === 0) continue;
        p50_ms.push(p50);
        p99_ms.push(p99);
      }
    const title = `**Added latency** at ${rate} requests/s`;
    const texts = [
      `${machineText(machine)}\n\`${command}\``,
      title,
      tableText(rows),
      ...disturbance(machine),
    ];
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

/** An open loop: a request goes out whenever it is due, however many replies are missing. Rejects at a reply that is an error, or lost. */
async function latenciesAt(port: number, rate: number, measure_ms: number): Promise<number[]> {
  const pool = new Pool(`http://127.0.0.1:${port}`, {
    connections: null,
    headersTimeout: 10_000,
    bodyTimeout: 10_000,
  });
  const request = requestOf('chat', {});
  const latencies_ms: number[] = [];
  const sent: Promise<void>[] = [];
  const begun_ms = performance.now();
  const send = async () => {
    const sent_ms = performance.now();
    await replyTo(pool, request);
    if (sent_ms - begun_ms >= warmup_ms) latencies_ms.push(performance.now() - sent_ms);
  };
  try {
    for (let elapsed_ms = 0; elapsed_ms < warmup_ms + measure_ms; ) {
      while (sent.length < (elapsed_ms / 1000) * rate) sent.push(send());
      await after(1);
      elapsed_ms = performance.now() - begun_ms;
    }
    await Promise.all(sent);
    return latencies_ms;
  } finally {
    await pool.destroy();
  }
}

/** The medians of every gateway; what it adds is the median over the rounds. */
function tableText(rows: readonly Row[]): string {
  const [reference] = rows;
  const lines = rows.map(({ entry, p50_ms, p99_ms }) => {
    const added = p99_ms.map((ms, round) => ms - reference!.p99_ms[round]!);
    const cells = [p50_ms, p99_ms, ...(entry === reference!.entry ? [] : [added])];
    return [entry.contestant.title, ...cells.map(values => median(values).toFixed(2))];
  });
  return markdownTable(['Gateway', 'p50 ms', 'p99 ms', 'added, p99 ms'], lines);
}
