/** `npm run bench:docs`: runs the tables of docs/performance.md, writes its sections anew, and adds their figures to the history. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { listOf } from '../command-options.ts';
import { root } from './contestants.ts';
import { addToHistory, currentCommit, historyTable, machineOf, readHistory } from './history.ts';
import { say } from './measurement.ts';
import type { Written } from './run.ts';
import { commandOf, sections, withSection } from './sections.ts';

const named = Object.fromEntries(Object.keys(sections).map(name => [name, name]));
const { tables } = new Command('npm run bench:docs --')
  .description(
    `Measures the sections of docs/performance.md and writes them anew: ${Object.keys(sections).join(', ')}. On a quiet machine with two cores; about 25 minutes in all.`,
  )
  .option(
    '--tables <A,B>',
    'only these sections; the others stay as they are',
    listOf(named),
    Object.keys(named),
  )
  .parse()
  .opts<{ tables: string[] }>();

/** Before the page is changed. */
const commit = currentCommit();
const page = join(root, 'docs/performance.md');
const directory = mkdtempSync(join(tmpdir(), 'sluice-bench-docs-'));
process.once('exit', () => rmSync(directory, { recursive: true, force: true }));

/** Runs the benchmark of a section. Throws if it fails. */
function measured(section: string): Written {
  const json = join(directory, `${section}.json`);
  const { program = 'run.ts', options } = sections[section]!;
  const args = ['--conditions=sluice-source', join(root, 'test/bench', program)];
  const { status } = spawnSync(process.execPath, [...args, ...options.split(' '), '--json', json], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (status !== 0) throw new Error(`the benchmark of ${section} failed`);
  return JSON.parse(readFileSync(json, 'utf8'));
}

/** Measures a section, and writes it and the history. */
function renew(section: string): void {
  const { machine, tables, doubts, figures } = measured(section);
  const command = commandOf(sections[section]!);
  const date = machine.date.slice(0, 10);
  const setting = `\`${command}\`, on ${date}, commit ${commit}. ${machineOf(machine)}.`;
  const notes = doubts.length > 0 ? [doubts.map(line => `- ${line}.`).join('\n')] : [];
  addToHistory({ section, date, commit, machine: machineOf(machine), command, figures });
  const text = readFileSync(page, 'utf8');
  const renewed = withSection(text, section, [setting, ...tables, ...notes].join('\n\n'));
  writeFileSync(page, withSection(renewed, 'history', historyTable(readHistory())));
}

for (const [at, section] of tables.entries()) {
  say(`section ${section}, ${at + 1} of ${tables.length}`);
  try {
    renew(section);
  } catch (error) {
    // The sections that are measured already stay, and the next ones follow.
    say((error as Error).message);
    process.exitCode = 1;
  }
}
