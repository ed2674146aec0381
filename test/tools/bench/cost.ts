import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'undici';
import { listOf } from '../command-options.ts';
import { markdownTable, median } from '../figures.ts';
import { root } from '../processes.ts';
import { defineTool, say } from '../tool.ts';
import type { Place } from './contestants.ts';
import { chatBody } from './conversation.ts';
import { InspectedProcess, inspectedFlags } from './inspected-process.ts';
import { benchPlace } from './measurement.ts';
import { replyTo, requestOf } from './request-load.ts';
import { parts, startPart } from './sluice-contestants.ts';

/** What one request costs, or one event of a stream. */
interface Cost {
  readonly heap_bytes: number;
  readonly calls: number;
  readonly files: number;
  readonly promises: number;
  readonly timers: number;
}
type Unit = 'request' | 'event';

const budgetFile = join(root, 'test/tools/bench/budget.json');
/** By how much a cost may exceed the budget: bytes hardly vary, counts even less. */
const slack: Readonly<Record<keyof Cost, number>> = {
  heap_bytes: 0.03,
  calls: 0.01,
  files: 0,
  promises: 0.03,
  timers: 0.03,
};
const connections = 8;
const tokens_per_stream = 200;
/** Between two events of a stream. */
const period_ms = 5;
/** V8 compiles what has run often enough, and compiled code allocates less. */
const warmup = { request: 4000, event: 8 * connections * tokens_per_stream };
const measured = { request: 1000, event: 2 * connections * tokens_per_stream };

export const tool = defineTool<{ check?: true; write?: true; only: readonly string[] }>({
  about:
    'Bytes, calls and promises do not vary with the load of the machine, as times do. A Markdown table on stdout. --check compares the whole chain with budget.json alone, and fails where it costs more.',
  options: command =>
    command
      .option('--check', 'fail if a request or an event costs more than budget.json says')
      .option('--write', 'write budget.json anew')
      .option(
        '--only <A,B>',
        `of ${Object.keys(parts).join(', ')}`,
        listOf(Object.fromEntries(Object.keys(parts).map(name => [name, name]))),
        Object.keys(parts),
      ),
  async run({ options }) {
    const place = await benchPlace(period_ms);
    if (options.check || options.write) {
      const whole = await costsOf('whole', place, ['request', 'event']);
      // With OpenTelemetry's SDK, and no exchange sampled.
      const traced = await costsOf('traced-0', place, ['request']);
      process.stdout.write(
        `${tableOf([
          ['whole', whole],
          ['traced-0', traced],
        ])}\n`,
      );
      const found = { ...whole, 'unsampled request': traced.request! };
      if (options.write) writeFileSync(budgetFile, `${JSON.stringify(rounded(found), undefined, 2)}\n`);
      return options.check === undefined || isWithinBudget(found);
    }
    const rows: [string, Costs][] = [];
    for (const name of options.only) {
      const units: Unit[] = name === 'whole' || name === 'envelope' ? ['request', 'event'] : ['request'];
      rows.push([name, await costsOf(name, place, units)]);
    }
    process.stdout.write(`${tableOf(rows)}\n`);
    return true;
  },
});

type Costs = Partial<Record<Unit, Cost>>;

/** Starts the sidecar with one of its parts changed, and counts. */
async function costsOf(name: string, place: Place, units: readonly Unit[]): Promise<Costs> {
  say(`counting: ${name}`);
  const { port, process } = await startPart(name, place, inspectedFlags);
  const inspected = await InspectedProcess.attach(process);
  const clients = Array.from({ length: connections }, () => new Client(`http://127.0.0.1:${port}`));
  const send = (unit: Unit, count: number) => sendAll(clients, unit, count);
  const costs: Costs = {};
  try {
    for (const unit of units) await send(unit, warmup[unit]);
    const bytes: Partial<Record<Unit, number>> = {};
    // Before anything that slows the process down is switched on.
    for (const unit of units) {
      const rounds: number[] = [];
      for (let round = 0; round < 3; round++)
        rounds.push(await inspected.heapBytes(() => send(unit, measured[unit])));
      bytes[unit] = median(rounds.filter(each => !Number.isNaN(each))) / measured[unit];
    }
    for (const unit of units) {
      const count = measured[unit];
      const created = await inspected.created(() => send(unit, count));
      const called = await inspected.calls(count, () => send(unit, count));
      const { PROMISE = 0, Timeout = 0 } = created;
      costs[unit] = {
        heap_bytes: bytes[unit]!,
        ...called,
        promises: PROMISE / count,
        timers: Timeout / count,
      };
    }
    return costs;
  } finally {
    await Promise.all(clients.map(client => client.destroy()));
    process.signal('SIGKILL');
    await process.exited;
  }
}

/** Sends as many requests, or as many streams as have so many events, in closed loops. */
async function sendAll(clients: readonly Client[], unit: Unit, units: number): Promise<void> {
  const body = unit === 'event' ? chatBody({ max_tokens: tokens_per_stream }) : chatBody();
  const request = requestOf({}, body);
  let left = unit === 'event' ? units / tokens_per_stream : units;
  const loop = async (client: Client) => {
    while (left-- > 0) {
      const text = (await replyTo(client, request)).toString();
      if (unit === 'event' && !text.endsWith('data: [DONE]\n\n')) throw new Error('a stream without its end');
    }
  };
  await Promise.all(clients.map(loop));
}

/** Prints what exceeds the budget; whether nothing does. */
function isWithinBudget(costs: Readonly<Record<string, Cost>>): boolean {
  const budget: Record<string, Cost> = JSON.parse(readFileSync(budgetFile, 'utf8'));
  let isWithin = true;
  for (const [unit, limits] of Object.entries(budget))
    for (const [name, most] of Object.entries(limits) as [keyof Cost, number][]) {
      const found = costs[unit]![name];
      if (found <= most * (1 + slack[name]) + 0.05) continue;
      say(`${name} of one ${unit}: ${found.toFixed(1)}, and the budget is ${most}`);
      isWithin = false;
    }
  return isWithin;
}

const digits: Readonly<Record<keyof Cost, number>> = {
  heap_bytes: 0,
  calls: 0,
  files: 0,
  promises: 1,
  timers: 1,
};

const rounded = (costs: Readonly<Record<string, Cost>>) =>
  Object.fromEntries(
    Object.entries(costs).map(([unit, cost]) => [
      unit,
      Object.fromEntries(
        (Object.entries(cost) as [keyof Cost, number][]).map(([name, value]) => [
          name,
          Number(value.toFixed(digits[name])),
        ]),
      ),
    ]),
  );

function tableOf(rows: readonly [string, Costs][]): string {
  const cells = rows.flatMap(([name, costs]) =>
    Object.entries(costs).map(([unit, cost]) => [
      `${name}, one ${unit}`,
      ...(Object.keys(digits) as (keyof Cost)[]).map(column => cost[column].toFixed(digits[column])),
    ]),
  );
  return markdownTable(['', 'heap bytes', 'calls', 'in files', 'promises', 'timers'], cells);
}
