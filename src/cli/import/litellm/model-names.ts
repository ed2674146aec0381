import { textsIn } from '../../../common/json-object.ts';
import type { Fields } from '../fields.ts';
import type { Findings } from '../findings.ts';
import { canBeAlias } from '../imported-config.ts';
import { restOf } from './deployment.ts';

/** Stand for every model, or those of the team, in lists of LiteLLM. */
const every = ['all-proxy-models', 'all-team-models', '*'];

/** The models that came over, by the names that LiteLLM has for them. */
export class ModelNames {
  readonly #ids: ReadonlyMap<string, string>;
  /** Models by the name of an access group. */
  readonly #groups: ReadonlyMap<string, readonly string[]>;

  constructor(ids: ReadonlyMap<string, string>, groups: ReadonlyMap<string, readonly string[]>) {
    this.#ids = ids;
    this.#groups = groups;
  }

  /** The ids of the models that a row lists; undefined if it may use all, as where it lists none. */
  idsOf(row: Fields, findings: Findings): readonly string[] | undefined {
    const names = textsIn(row.list('models'));
    if (names.length === 0 || names.some(name => every.includes(name))) return undefined;
    const ids = names.flatMap(name => {
      if (name === 'no-default-models') return [];
      const found = this.#found(name);
      if (found.length === 0)
        findings.lost([...row.path, 'models'], `there is no model ${name.slice(0, 100)}`);
      return found;
    });
    return [...new Set(ids)];
  }

  /** Other names that a row has for models. */
  aliasesIn(aliases: Fields, findings: Findings): Readonly<Record<string, string>> {
    const found: [string, string][] = [];
    for (const name of aliases.names) {
      const model = aliases.value(name);
      const id = typeof model === 'string' ? this.#ids.get(model) : undefined;
      if (id !== undefined && canBeAlias(name)) found.push([name, id]);
      else findings.lost([...aliases.path, name], 'names no model that came over');
    }
    return Object.fromEntries(found);
  }

  #found(name: string): readonly string[] {
    const id = this.#ids.get(name);
    if (id !== undefined) return [id];
    const group = (this.#groups.get(name) ?? []).flatMap(model => this.#ids.get(model) ?? []);
    if (group.length > 0 || !name.includes('*')) return group;
    return [...this.#ids].flatMap(([model, found]) => (restOf(model, name) === undefined ? [] : [found]));
  }
}
