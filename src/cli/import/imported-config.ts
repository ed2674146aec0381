import { isDeepStrictEqual } from 'node:util';
import { Document, isCollection, type Pair, visit, type YAMLMap } from 'yaml';
import { defaultStages } from '../../../plugins/index.ts';
import { isPrintable } from '../../common/printable.ts';
import { loadConfig } from '../../config/load.ts';
import { builtInAdapters } from '../../config/load-adapters.ts';
import type { GatewayConfig } from '../../config/schema.ts';
import { type CatalogEntry, uncertain } from './catalog-entry.ts';
import { type Expression, variablesIn } from './expression.ts';

/** A provider as a configuration has it. */
export interface ImportedProvider {
  readonly adapter: string;
  readonly base_url?: Expression | undefined;
  readonly api_key?: Expression | undefined;
  readonly headers?: Readonly<Record<string, Expression>> | undefined;
  readonly extra_parameters?: readonly string[] | undefined;
  readonly drop_parameters?: readonly string[] | undefined;
  readonly first_token_timeout_ms?: number | undefined;
  readonly idle_timeout_ms?: number | undefined;
  readonly max_concurrent?: number | undefined;
  readonly breaker?: Readonly<Record<string, number>> | undefined;
}

/** Stages beside the default chain, each with the one that it stands behind. */
const behind: Readonly<Record<string, string>> = {
  'response-cache': 'reasoning-split',
};

/** Fields whose values are short. */
const in_one_line = [
  'pricing',
  'reasoning_effort',
  'breaker',
  'operations',
  'keys',
  'architecture',
  'limits',
];

/** A configuration that grows while another gateway's is read. */
export class ImportedConfig {
  readonly routing: Record<string, unknown> = {};
  /** Models by the names that clients use. */
  readonly aliases = new Map<string, string>();
  readonly passthrough = new Set<string>();
  readonly accounts: Record<string, unknown> = {};
  readonly stores: Record<string, unknown> = {};
  /** Options of the stages that are not as the default chain has them, by the name of the stage. */
  readonly stages: Record<string, Record<string, unknown>> = {};
  readonly #providers = new Map<string, ImportedProvider>();
  readonly #ids = new Set<string>();
  readonly #models = new Map<string, CatalogEntry>();

  /** The ids of the models. */
  get models(): readonly string[] {
    return [...this.#models.keys()];
  }

  /** Names a provider with these settings: one that is there already, or a new one called `name` or with a number behind it. */
  provider(name: string, settings: ImportedProvider): string {
    const isUsual = settings.base_url === builtInAdapters.get(settings.adapter)?.base_url;
    const given: ImportedProvider = JSON.parse(
      JSON.stringify(isUsual ? { ...settings, base_url: undefined } : settings),
    );
    for (const [known, other] of this.#providers) if (isDeepStrictEqual(other, given)) return known;
    const free = freeName(name, known => this.#providers.has(known));
    this.#providers.set(free, given);
    return free;
  }

  /** The settings of a provider that `provider` has named. */
  settingsOf(name: string): ImportedProvider | undefined {
    return this.#providers.get(name);
  }

  /** The id of the model that clients call `name`: itself if it has the form, else with `vendor` before it, and an alias. */
  idFor(name: string, vendor: string): string {
    const plain = name.replace(/\s+/g, '-');
    const wanted = /^[^/]+\/.+$/.test(plain) ? plain : `${vendor}/${plain}`;
    const id = freeName(wanted, known => this.#ids.has(known));
    this.#ids.add(id);
    if (id !== name) this.aliases.set(name, id);
    return id;
  }

  /** Adds a model, whose id `idFor` has given. */
  add(entry: CatalogEntry): void {
    this.#models.set(entry.id, entry);
  }

  /** The configuration as an object. */
  get value(): GatewayConfig {
    const { routing, accounts, stores } = this;
    const aliases = Object.fromEntries([...this.aliases].filter(([name]) => canBeAlias(name)));
    const hasAliases = Object.keys(aliases).length > 0;
    const parts = {
      providers: Object.fromEntries(this.#providers),
      routing,
      models: [...this.#models.values()].map(({ value }) => value),
      aliases,
      ...(hasAliases && { list_aliases: true }),
      passthrough: [...this.passthrough].map(path => ({ path })),
      accounts,
      stages: this.#chain(),
      stores,
    };
    const given = Object.entries(parts).filter(
      ([, part]) => typeof part !== 'object' || Object.keys(part).length > 0,
    );
    return JSON.parse(JSON.stringify(Object.fromEntries(given)));
  }

  /** The configuration as YAML below `head`, with a comment above each field that was guessed. */
  textBelow(head: string): string {
    const document = new Document(this.value);
    for (const [at, { guessed }] of [...this.#models.values()].entries()) {
      const map = document.getIn(['models', at]) as YAMLMap;
      map.spaceBefore = at > 0;
      for (const { key } of map.items as Pair<{ value: string; commentBefore?: string }>[])
        if (guessed.includes(key.value)) key.commentBefore = ` ${uncertain[key.value]}`;
    }
    visit(document, {
      Pair: (_, { key, value }) => {
        if (isCollection(value) && in_one_line.includes(String(key))) value.flow = true;
      },
    });
    const { contents } = document as { contents: YAMLMap<{ spaceBefore?: boolean }> };
    for (const { key } of contents.items) key.spaceBefore = true;
    document.commentBefore = head.replace(/^/gm, ' ');
    return document.toString({ lineWidth: 110, flowCollectionPadding: true });
  }

  #chain(): readonly unknown[] {
    if (Object.keys(this.stages).length === 0) return [];
    const names = defaultStages.map(({ stageName }) => stageName);
    const all = names.flatMap(name => [
      name,
      ...Object.keys(behind).filter(own => behind[own] === name && this.stages[own]),
    ]);
    return all.map(name => {
      const options = this.stages[name] ?? {};
      return Object.keys(options).length > 0 ? { [name]: options } : name;
    });
  }
}

/** `name`, or with the lowest number from 2 behind it that is free. */
export function freeName(name: string, isTaken: (name: string) => boolean): string {
  let free = name;
  for (let number = 2; isTaken(free); number++) free = `${name}-${number}`;
  return free;
}

/** Checks a configuration with a value in the place of each variable. Rejects with a ConfigError that lists its mistakes. */
export async function checkImported(config: GatewayConfig): Promise<void> {
  const environment: Record<string, string> = {};
  const text = JSON.stringify(config);
  for (const name of variablesIn(text)) environment[name] = sampleFor(name, text);
  await loadConfig(config, environment);
}

/** A value that fits where a variable stands. */
function sampleFor(name: string, text: string): string {
  const place = `\${${name}}`;
  if (text.includes(`"base_url":"${place}`)) return 'https://example.com';
  if (text.includes(`"state":"${place}"`)) return 'redis://example.com';
  if (text.includes(`:${place}/`) || text.includes(`:${place}"`)) return '6379';
  return `checked-without-it-${name}`;
}

/** Whether a name can be an alias of a configuration; one that cannot is left out. */
export const canBeAlias = (name: string): boolean =>
  name.length <= 256 && isPrintable(name) && name !== '__proto__' && !/\*|\$\{/.test(name);
