import type { z } from 'zod';
import type { ConfigIssue } from '../common/config-error.ts';
import { type DialectDefinition, isDialectDefinition } from '../gateway/dialects/define-dialect.ts';
import { builtInDialects, sectionsOf } from './built-in-dialects.ts';
import { listedPlugin, type PluginKind, type PluginPlace, pluginMistake, reported } from './import-plugin.ts';
import type { Adapters } from './load-adapters.ts';
import { configSchema, configSchemaOf } from './schema.ts';

const dialectKind: PluginKind<DialectDefinition> = {
  what: 'a dialect',
  maker: 'defineDialect',
  is: isDialectDefinition,
};

/** Names of endpoints that are of no dialect. */
const other_endpoints = ['passthrough', 'unknown'];

/** Loads the dialects of a configuration beside the built-in ones. Mistakes are added to `issues`. */
export class DialectLoader {
  readonly #issues: ConfigIssue[];
  readonly #own: DialectDefinition[] = [];
  readonly #paths: (readonly PropertyKey[])[] = [];
  #isComplete = true;

  constructor(issues: ConfigIssue[]) {
    this.#issues = issues;
  }

  /** All dialects that can be used. */
  get all(): readonly DialectDefinition[] {
    return [...builtInDialects, ...this.#own];
  }

  /** Where number `at` of all dialects is listed; empty for a built-in one. */
  pathOf(at: number): readonly PropertyKey[] {
    return this.#paths[at - builtInDialects.length] ?? [];
  }

  /** Loads the entries of a list at `path`: definitions, paths and packages. The schema reports what is no list. */
  async load(entries: unknown, path: readonly PropertyKey[], place: PluginPlace): Promise<void> {
    for (const [at, entry] of (Array.isArray(entries) ? entries : []).entries()) {
      const dialect = await reported([...path, at], this.#issues, async () =>
        this.#usable(await listedPlugin(dialectKind, entry, place)),
      );
      if (!dialect) this.#isComplete = false;
      else if (!this.#own.includes(dialect)) {
        this.#own.push(dialect);
        this.#paths.push([...path, at]);
      }
    }
  }

  /** The configuration with the sections of the dialects and `others`. Where one cannot be used its section may be there, under any name. */
  configSchema(adapters: Adapters, others: Readonly<Record<string, z.ZodType>> = {}): typeof configSchema {
    const schema = configSchemaOf(adapters, { ...others, ...sectionsOf(this.#own) });
    return this.#isComplete ? schema : (schema.loose() as unknown as typeof configSchema);
  }

  /** `dialect`, unless something of it is taken; then throws a ConfigError. */
  #usable(dialect: DialectDefinition): DialectDefinition {
    const { name, section, schema, paths } = dialect;
    const others = this.all.filter(other => other !== dialect);
    if (other_endpoints.includes(name) || others.some(other => other.name === name))
      throw pluginMistake(`the name ${name} is taken by another endpoint; give this dialect another name`);
    for (const path of Object.keys(paths)) {
      const owner = others.find(other => Object.hasOwn(other.paths, path));
      if (!owner) continue;
      const by = builtInDialects.some(({ name }) => name === owner.name)
        ? 'the gateway itself'
        : 'another dialect';
      throw pluginMistake(`its path ${path} is taken by ${by}; give it another path`);
    }
    // Dialects that belong together share a section, by the same schema.
    const strangers = others.filter(other => other.schema !== schema);
    const sections = { ...configSchema.shape, ...sectionsOf(strangers) } as Record<string, z.ZodType>;
    if (section !== undefined && Object.hasOwn(sections, section))
      throw pluginMistake(`its section ${section} is taken in the configuration; give it another name`);
    return dialect;
  }
}
