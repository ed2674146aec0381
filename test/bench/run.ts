/** `npm run bench`: sluice beside other gateways, on one core, as one Markdown table. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Children, load_core, pinSelf } from './children.ts';
import type { Contestant, Surroundings } from './contestants/contestant.ts';
import { chosen } from './contestants.ts';
import { costsAlone } from './costs.ts';
import { type Entry, entryOf } from './entry.ts';
import { thisMachine } from './machine.ts';
import { type Options, optionsOf, usage } from './options.ts';
import { untilAnswering } from './probe.ts';
import { type Measurements, reportOf } from './report.ts';
import { measureAll } from './rounds.ts';

const say = (text: string): void => void process.stderr.write(`${text}\n`);

async function main(argv: string[]): Promise<void> {
  const options = optionsOf(argv);
  if (!options) return void process.stdout.write(usage);
  const taking_part = chosen(options.tables, options.only);
  const machine = thisMachine();
  const command = ['npm run bench', ...(argv.length > 0 ? ['--', ...argv] : [])].join(' ');
  const result = await measured(taking_part, options);
  process.stdout.write(reportOf(result, machine, options, command));
  if (options.json)
    writeFileSync(options.json, JSON.stringify({ machine, command, options, ...result }, null, 2));
}

/** Starts everything, measures, and ends everything, whatever happens. */
async function measured(taking_part: readonly Contestant[], options: Options): Promise<Measurements> {
  pinSelf(load_core);
  const children = new Children();
  const directory = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  const stop = async () => {
    await children.stop();
    rmSync(directory, { recursive: true, force: true });
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void stop().finally(() => process.exit(1)));
  try {
    const upstream = children.startOwn(load_core, 'upstream.ts');
    const { port: upstream_port } = (await upstream.message()) as { port: number };
    const generator = children.startOwn(load_core, 'generator.ts');
    await generator.message();
    const entries: Entry[] = [];
    for (const contestant of taking_part)
      entries.push(await entered(contestant, { children, directory, upstream_port }));
    await measureAll(entries, { generator, upstream, options, say });
    for (const entry of entries) entry.spans = await entry.gateway?.spans?.();
    const costs = isAsked('parts', options) ? await costsAlone(children, say) : [];
    return { entries, costs };
  } finally {
    await stop();
  }
}

/** Only tables that are shown whole have what is not a contestant. */
const isAsked = (table: string, { tables, only }: Options): boolean =>
  !only && (tables?.includes(table) ?? true);

async function entered(contestant: Contestant, surroundings: Surroundings): Promise<Entry> {
  say(`starting ${contestant.name}`);
  try {
    const gateway = await contestant.start(surroundings);
    await untilAnswering(gateway, contestant.task);
    return entryOf(contestant, gateway, undefined);
  } catch (thrown) {
    const fault = thrown instanceof Error ? thrown.message : String(thrown);
    say(`${contestant.name} does not take part: ${fault}`);
    return entryOf(contestant, undefined, fault);
  }
}

main(process.argv.slice(2)).catch((error: unknown) => {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
});
