import { readFileSync } from 'node:fs';
import { type ClientFacts, clientFacts } from './facts.ts';

const { devDependencies } = JSON.parse(
  readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'),
) as { devDependencies: Record<string, string> };

/** The README's table of clients: what each takes, and under which configuration. */
export function clientTable(): string {
  const rows = Object.values<ClientFacts>(clientFacts).map(facts => `| ${cellsOf(facts).join(' | ')} |`);
  return [
    '| client | endpoint | configuration | whole | streamed | reasoning is in | running usage | after 524 |',
    '|---|---|---|---|---|---|---|---|',
    ...rows,
  ].join('\n');
}

function cellsOf({ client, packages, endpoint, under, ...facts }: ClientFacts): string[] {
  return [
    `${client}: ${packages.map(name => `\`${name}\` ${versionOf(name)}`).join(', ')}`,
    `\`${endpoint}\``,
    settingsOf(under),
    taken(facts.reply),
    taken(facts.stream),
    facts.reasoning === undefined ? '–' : `\`${facts.reasoning}\``,
    facts.running_usage ? 'shown' : '–',
    facts.repeats_after_524 ? 'repeats' : 'does not repeat',
  ];
}

/** `^7.55.0` as `7.55`. */
function versionOf(name: string): string {
  const version = /\d+\.\d+/.exec(devDependencies[name] ?? '');
  if (!version) throw new Error(`${name} is not among the devDependencies`);
  return version[0];
}

function settingsOf(under: ClientFacts['under']): string {
  if (!under) return 'default';
  return Object.entries(under)
    .flatMap(([section, options]) =>
      Object.entries(options).map(([name, value]) => `${section}.${name}: ${value}`),
    )
    .map(setting => `\`${setting}\``)
    .join(', ');
}

const taken = (is: boolean): string => (is ? 'yes' : '**rejects**');
