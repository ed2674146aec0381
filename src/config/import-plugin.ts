import { isAbsolute, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ConfigError, type ConfigIssue, shownIssue } from '../common/config-error.ts';
import { within } from '../common/within.ts';
import { packageFile } from './package-file.ts';

/** A kind of plugin, as messages name it, and how its exports are recognized. */
export interface PluginKind<T> {
  /** Such as `a stage`. */
  readonly what: string;
  /** Such as `defineStage`. */
  readonly maker: string;
  is(value: unknown): value is T;
}

/** Where plugins are loaded from, and how long one may take. */
export interface PluginPlace {
  /** Start of relative paths, and of the search for packages. */
  readonly directory: string;
  readonly load_ms: number;
}

/** Time for a module to load: a top-level `await` in it may never settle. */
export const default_load_ms = 10_000;

/** A package, or a module in one. */
export const package_form = /^(@[\w.-]+\/)?[\w.-]+(\/[\w./-]+)?$/;

/**
 * A plugin by path or package: the default export of its module, or its only one of this kind. Resolves with `undefined` if `name` is no
 * path and no package of this name is installed. Rejects with a ConfigError, whose issues have empty paths.
 */
export async function importPlugin<T>(
  kind: PluginKind<T>,
  name: string,
  place: PluginPlace,
): Promise<T | undefined> {
  const isPath = name.startsWith('.') || isAbsolute(name);
  if (!isPath && !package_form.test(name)) return undefined;
  let module: Record<string, unknown>;
  let file: string | undefined;
  try {
    file = isPath ? resolve(place.directory, name) : packageFile(name, place.directory);
    module = await imported(file, place.load_ms);
  } catch (cause) {
    if (!isPath && Object(cause).code === 'MODULE_NOT_FOUND') return undefined;
    throw loadMistakes(name, file, cause);
  }
  return exportOf(kind, module);
}

/** An entry of a list of plugins: its definition, or what its path or package exports. Rejects with a ConfigError, as `importPlugin` does. */
async function listedPlugin<T>(kind: PluginKind<T>, entry: unknown, place: PluginPlace): Promise<T> {
  if (kind.is(entry)) return entry;
  if (typeof entry !== 'string')
    throw pluginMistake(`must be ${kind.what} made with ${kind.maker}, or its path or package`);
  const plugin = await importPlugin(kind, entry, place);
  if (!plugin) throw pluginMistake(noPackage(entry));
  return plugin;
}

/** A list of plugins, with its path in the configuration or the options, and where paths in it begin. */
export interface PluginList {
  readonly entries: unknown;
  readonly path: readonly PropertyKey[];
  readonly place: PluginPlace;
}

/** An entry of such a list; without a plugin it was refused. */
export interface PluginEntry<T> {
  readonly path: readonly PropertyKey[];
  readonly plugin: T | undefined;
}

/**
 * Loads the entries of `lists`; the schema reports what is no list. `check` throws a ConfigError for one that cannot stand beside those
 * `before` it. Mistakes are added to `issues`.
 */
export async function loadLists<T>(
  kind: PluginKind<T>,
  lists: readonly PluginList[],
  issues: ConfigIssue[],
  check: (plugin: T, before: readonly T[]) => void = () => {},
): Promise<PluginEntry<T>[]> {
  const entries: PluginEntry<T>[] = [];
  for (const { entries: written, path: list, place } of lists)
    for (const [at, entry] of (Array.isArray(written) ? written : []).entries()) {
      const path = [...list, at];
      const plugin = await reported(path, issues, async () => {
        const found = await listedPlugin(kind, entry, place);
        check(found, pluginsIn(entries));
        return found;
      });
      entries.push({ path, plugin });
    }
  return entries;
}

/** The plugins that were not refused. */
export const pluginsIn = <T>(entries: readonly PluginEntry<T>[]): T[] =>
  entries.flatMap(({ plugin }) => plugin ?? []);

/** What is wrong with the plugin `name`, whose module is `file`: its definition has mistakes, it is not there, or it throws. */
function loadMistakes(name: string, file: string | undefined, cause: unknown): ConfigError {
  const thrown = Object(cause) as Partial<ConfigError> & { code?: unknown; url?: unknown };
  if (thrown.name === 'ConfigError' && thrown.issues) {
    const told = thrown.issues.map(issue => shownIssue(issue).replace(/^\(top level\): /, ''));
    const issues = told.map(text => ({ path: [], message: `${name}: ${text}` }));
    return new ConfigError('plugin', issues, { cause });
  }
  const isAbsent = thrown.code === 'ERR_MODULE_NOT_FOUND' && file && thrown.url === pathToFileURL(file).href;
  const told = isAbsent ? `there is no file ${file}` : messageOf(cause) + remedyFor(cause);
  return pluginMistake(`cannot be loaded: ${told}`, cause);
}

/** What to do about a module in a package of CommonJS, which `npm init` makes. */
const remedyFor = (cause: unknown): string =>
  cause instanceof SyntaxError && /import statement outside a module|token 'export'/.test(cause.message)
    ? '; name the file .mts or .mjs, or run npm pkg set type=module in its folder'
    : '';

/** Message for a name that is no path and under which no package is installed. */
export const noPackage = (name: unknown): string => `there is no package '${name}'; a path begins with ./`;

const imported = (file: string, load_ms: number): Promise<Record<string, unknown>> =>
  within(
    import(pathToFileURL(file).href),
    load_ms,
    () => new Error(`still loading after ${load_ms / 1000} s; a top-level await in it may never settle`),
  );

function exportOf<T>({ what, maker, is }: PluginKind<T>, module: Record<string, unknown>): T {
  if (is(module.default)) return module.default;
  const found = Object.entries(module).filter((entry): entry is [string, T] => is(entry[1]));
  const [first, ...others] = new Set(found.map(([, value]) => value));
  const must = `must export ${what} made with ${maker}, as its default or only one`;
  if (first === undefined) throw pluginMistake(must);
  if (others.length > 0) throw pluginMistake(`${must}; it exports ${found.map(([name]) => name).join(', ')}`);
  return first;
}

/** One mistake in a plugin, for the place in the configuration where it is named. */
export const pluginMistake = (message: string, cause?: unknown): ConfigError =>
  new ConfigError('plugin', [{ path: [], message }], { cause });

/** First line of what was thrown, which may be anything. */
export const messageOf = (thrown: unknown): string =>
  String(thrown instanceof Error ? thrown.message : thrown).split('\n')[0]!;

/** What `load` resolves with; undefined if it rejects with a ConfigError, whose issues are added to `issues`, below `path`. */
export async function reported<T>(
  path: readonly PropertyKey[],
  issues: ConfigIssue[],
  load: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await load();
  } catch (thrown) {
    const { name, issues: found } = Object(thrown) as Partial<ConfigError>;
    if (name !== 'ConfigError' || !found) throw thrown;
    issues.push(...found.map(issue => ({ ...issue, path: [...path, ...issue.path] })));
    return undefined;
  }
}
