import { readFileSync } from 'node:fs';
import { type ClientFacts, clientFacts } from './facts.ts';
import { type ProgramFacts, results_file } from './programs/results.ts';

const { devDependencies } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
) as { devDependencies: Record<string, string> };

/** The README's table of clients: what each needs, and what it makes of reasoning, tools and usage. */
export function clientTable(): string {
  const programs = JSON.parse(readFileSync(results_file, 'utf8')) as ProgramFacts[];
  const cells = [...Object.values<ClientFacts>(clientFacts).map(cellsOf), ...programs.map(programCells)];
  const rows = cells.map(row => `| ${row.join(' | ')} |`);
  return [
    '| client | endpoint | works by default | what must be set | reasoning is in | tools | usage | after 524 |',
    '|---|---|---|---|---|---|---|---|',
    ...rows,
  ].join('\n');
}

function cellsOf({ client, packages, endpoint, under, needs, ...facts }: ClientFacts): string[] {
  const settings = [...(needs ? [needs] : []), ...settingsOf(under)];
  return [
    `${client}: ${packages.map(versionOf).join(', ')}`,
    `\`${endpoint}\``,
    settings.length > 0 ? 'with the setting' : 'yes',
    settings.map(setting => `\`${setting}\``).join(', ') || '–',
    facts.reasoning === undefined ? '–' : `\`${facts.reasoning}\``,
    toolsOf(facts.returns_reasoning),
    facts.running_usage ? 'running' : 'at the end',
    after524(facts),
  ];
}

/** A program's row; where its output shows reasoning is its own business. */
function programCells(facts: ProgramFacts): string[] {
  return [
    `${facts.client}: \`${facts.package}\` ${facts.version.replace(/\.\d+$/, '')}`,
    `\`${facts.endpoint}\``,
    facts.works ? (facts.needs ? 'with the setting' : 'yes') : '**no**',
    facts.needs ? `\`${facts.needs}\`` : '–',
    facts.shows_reasoning ? 'its output' : '–',
    facts.calls_tools ? toolsOf(facts.returns_reasoning) : '–',
    facts.shows_usage ? 'at the end' : '–',
    facts.always_streams || facts.repeats_after_524 !== undefined ? after524(facts) : '–',
  ];
}

const toolsOf = (returns_reasoning = false): string => (returns_reasoning ? 'yes, with reasoning' : 'yes');

/** `^7.55.0` as `7.55`; an alias under the name of its package. */
function versionOf(name: string): string {
  const wanted = devDependencies[name] ?? '';
  const [, alias] = /^npm:(.+)@/.exec(wanted) ?? [];
  const version = /\d+\.\d+/.exec(wanted);
  if (!version) throw new Error(`${name} is not among the devDependencies`);
  return `\`${alias ?? name}\` ${version[0]}`;
}

function settingsOf(under: ClientFacts['under']): string[] {
  return Object.entries(under ?? {}).flatMap(([section, options]) =>
    Object.entries(options).map(([name, value]) => `${section}.${name}: ${value}`),
  );
}

function after524(facts: { always_streams?: boolean; repeats_after_524?: boolean }): string {
  if (facts.always_streams) return 'always streams';
  return facts.repeats_after_524 ? 'repeats' : 'does not repeat';
}
