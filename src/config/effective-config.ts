import { builtInStages } from '../../plugins/index.ts';
import { decodePath } from '../common/decode-path.ts';
import { valueAt } from '../common/field-path.ts';
import { asObject, isObject } from '../common/json-object.ts';
import { hrefOf, severalHostsOf } from '../common/several-hosts.ts';
import type { LoadedConfig } from './load.ts';
import { builtInAdapters } from './load-adapters.ts';
import { providerBaseSchema } from './provider-schema.ts';
import { isAddress, isShown } from './shown-options.ts';

/** Stands in the place of a secret. */
export const mask = '***';

/** Names by which a text in options of an unknown plugin is taken for a secret. */
const secretName = /key|secret|token|passw|credential|auth|cookie|dsn|private/i;
/** A variable or a file alone: as good in place of its content, and no secret. */
const expression = /^\$\{(?:[A-Za-z_][A-Za-z0-9_]*|file:[^{}]*)\}$/;
/** Shorter texts would be found in many others. */
export const min_secret_characters = 6;

/**
 * A checked configuration with all defaults, as plain values. Masked are: what came from a variable or a file, which is shown as it is
 * written; passwords in addresses; and every text that is not known to be harmless. In options of plugins that are not built in, a text is
 * masked if its name sounds like a secret.
 */
export function effectiveConfig(loaded: LoadedConfig): Record<string, unknown> {
  const { masking, masked } = maskedConfig(loaded);
  return masking.withoutRepeated(masked) as Record<string, unknown>;
}

/** The texts that are masked in it, as they are written and as they are meant. */
export const secretsIn = (loaded: LoadedConfig): string[] => [...maskedConfig(loaded).masking.secrets];

function maskedConfig(loaded: LoadedConfig): { masking: Masking; masked: unknown } {
  const { config, stages, written } = loaded;
  const entries = asObject(written).stages;
  const listed = stages.map(({ name, plan, options }, at) => {
    const entry: unknown = Array.isArray(entries) ? entries[at] : name;
    const place = isObject(entry) ? Object.keys(entry)[0]! : String(entry);
    const parsed = plan?.options ?? options;
    return isObject(parsed) && Object.keys(parsed).length === 0 ? place : { [place]: parsed };
  });
  const masking = new Masking(loaded);
  return { masking, masked: masking.masked({ ...config, stages: listed }, []) };
}

class Masking {
  readonly #written: unknown;
  readonly #expanded: ReadonlySet<string>;
  readonly #ownAdapters: ReadonlySet<string>;
  /** What is masked somewhere, and must not stand anywhere else. */
  readonly secrets = new Set<string>();

  constructor({ config, written, expanded }: LoadedConfig) {
    this.#written = written;
    this.#expanded = new Set(expanded.map(({ path }) => placeOf(path)));
    for (const { content } of expanded) this.#keep(content);
    this.#ownAdapters = new Set(
      Object.entries(config.providers).flatMap(([name, { adapter }]) =>
        builtInAdapters.has(adapter) ? [] : name,
      ),
    );
  }

  /** `value` as plain values with its secrets masked. */
  masked(value: unknown, path: readonly PropertyKey[]): unknown {
    if (typeof value === 'string') return this.#text(value, path);
    if (value instanceof RegExp) return this.#text(String(value), path);
    if (Array.isArray(value)) return value.map((element, at) => this.masked(element, [...path, at]));
    if (value instanceof Map || value instanceof Set) return this.masked([...value], path);
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(
        Object.entries(value)
          .filter(([, element]) => element !== undefined && typeof element !== 'function')
          .map(([name, element]) => [name, this.masked(element, [...path, name])]),
      );
    return typeof value === 'bigint' ? String(value) : value;
  }

  /** Masks texts that contain what is masked elsewhere: a plugin may have moved it, or it may be in two places. */
  withoutRepeated(value: unknown): unknown {
    if (typeof value === 'string')
      return !expression.test(value) && [...this.secrets].some(secret => value.includes(secret))
        ? mask
        : value;
    if (Array.isArray(value)) return value.map(element => this.withoutRepeated(element));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, element]) => [name, this.withoutRepeated(element)]),
    );
  }

  #text(text: string, path: readonly PropertyKey[]): string {
    if (this.#expanded.has(placeOf(path))) {
      const expressed = valueAt(this.#written, path);
      return typeof expressed === 'string' && expression.test(expressed) ? expressed : this.#hidden(text);
    }
    if (isAddress(path)) return this.#address(text);
    return isShown(path) || this.#isOfOwnPlugin(path) ? text : this.#hidden(text);
  }

  /** Whether `path` is an option of a plugin that is not built in, with a name that sounds like no secret. */
  #isOfOwnPlugin(path: readonly PropertyKey[]): boolean {
    const [section, name, stage] = path.map(String);
    const isOwn =
      (section === 'providers' &&
        this.#ownAdapters.has(name!) &&
        !Object.hasOwn(providerBaseSchema.shape, stage!)) ||
      (section === 'stages' && !builtInStages.some(({ stageName }) => stageName === stage));
    return isOwn && !path.slice(2).some(part => typeof part === 'string' && secretName.test(part));
  }

  /** An address, also of several hosts, without what may be secret in it: user, password, query. A store in `memory` has none. */
  #address(text: string): string {
    const address = severalHostsOf(text);
    if (!address) return text === 'memory' ? text : this.#hidden(text);
    const { url } = address;
    if (url.username + url.password + url.search + url.hash === '') return text;
    this.#keep(url.password, decodePath(url.password));
    for (const [name, value] of url.searchParams)
      if (secretName.test(name)) this.#keep(value, encodeURIComponent(value));
    if (url.username !== '') url.username = mask;
    if (url.password !== '') url.password = mask;
    if (url.search !== '') url.search = mask;
    url.hash = '';
    return hrefOf(address);
  }

  #hidden(text: string): string {
    this.#keep(text);
    return text === '' ? text : mask;
  }

  #keep(...secrets: readonly string[]): void {
    for (const secret of secrets) if (secret.length >= min_secret_characters) this.secrets.add(secret);
  }
}

const placeOf = (path: readonly PropertyKey[]): string => JSON.stringify(path.map(String));
