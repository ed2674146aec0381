import type { z } from 'zod';
import type { ConfigIssue } from '../common/config-error.ts';
import { type ExtensionDefinition, isExtensionDefinition } from '../records/define-extension.ts';
import { listedPlugin, type PluginKind, type PluginPlace, pluginMistake, reported } from './import-plugin.ts';
import { configSchema } from './schema.ts';

/** The extensions that every gateway has, unless their folder is gone. They load their pages when they are asked for. */
const builtIn: readonly (() => Promise<ExtensionDefinition>)[] = [
  async () => (await import('../../plugins/dashboard/index.ts')).dashboard,
];

/** What the admin listener has by itself. */
const ownPaths: readonly string[] = ['metrics', 'healthz', 'readyz', 'reload'];

const extensionKind: PluginKind<ExtensionDefinition> = {
  what: 'an extension',
  maker: 'defineExtension',
  is: isExtensionDefinition,
};

/** Loads the extensions of a configuration. Mistakes are added to `issues`. */
export class ExtensionLoader {
  readonly #issues: ConfigIssue[];
  readonly all: ExtensionDefinition[] = [];

  constructor(issues: ConfigIssue[]) {
    this.#issues = issues;
  }

  async loadBuiltIn(): Promise<void> {
    for (const load of builtIn) {
      const extension = await load().catch(thrown => {
        if (isAbsent(thrown)) return undefined;
        throw thrown;
      });
      if (extension) this.all.push(extension);
    }
  }

  /** Loads the entries of a list at `path`: definitions, paths and packages. The schema reports what is no list. */
  async load(entries: unknown, path: readonly PropertyKey[], place: PluginPlace): Promise<void> {
    for (const [at, entry] of (Array.isArray(entries) ? entries : []).entries()) {
      const extension = await reported([...path, at], this.#issues, async () =>
        this.#usable(await listedPlugin(extensionKind, entry, place)),
      );
      if (extension) this.all.push(extension);
    }
  }

  /** The sections of the configuration with their options. */
  get sections(): Record<string, z.ZodType> {
    return Object.fromEntries(
      this.all.flatMap(({ section, schema }) =>
        section === undefined ? [] : [[section, schema.prefault({})]],
      ),
    );
  }

  /** `extension`, unless its name or its section is taken; then throws a ConfigError. */
  #usable(extension: ExtensionDefinition): ExtensionDefinition {
    const { name, section } = extension;
    const taken = (by: string) => pluginMistake(`the name ${name} is taken by ${by}; give it another name`);
    if (ownPaths.includes(name)) throw taken('the admin listener itself');
    if (this.all.some(other => other.name === name)) throw taken('another extension');
    if (section !== undefined && Object.hasOwn(configSchema.shape, section))
      throw pluginMistake(`its section ${section} is taken in the configuration; give it another name`);
    return extension;
  }
}

/** Whether a built-in extension is missing, rather than something that it imports. */
const isAbsent = (thrown: unknown): boolean => {
  const { code, url } = Object(thrown) as { code?: unknown; url?: unknown };
  return code === 'ERR_MODULE_NOT_FOUND' && /\/plugins\/[^/]+\/index\.[jt]s$/.test(String(url));
};
