import { AliasTable } from '../../plugins/stages/aliases/alias-table.ts';
import { aliases as aliasesStage } from '../../plugins/stages/aliases/index.ts';
import type { ConfigIssue } from '../common/config-error.ts';
import { asObject, type Json, objectsIn, textsIn } from '../common/json-object.ts';
import { noSuchName } from '../common/suggestion.ts';
import type { StagePlan } from '../gateway/exchange/stage-plan.ts';
import type { CheckedConfig } from './schema.ts';

const stageName = 'aliases';

type Path = readonly PropertyKey[];

/** Reports aliases of models that the catalog does not have, also in a configuration that is wrong elsewhere. */
export function* checkAliases(value: Json, stages: readonly Json[]): Generator<ConfigIssue> {
  const models = textsIn(objectsIn(value.models).map(({ id }) => id));
  if (models.length === 0) return;
  const known = new Set(models);
  for (const [path, table] of tablesOf(value, stages))
    for (const [name, model] of Object.entries(table)) {
      if (typeof model !== 'string' || known.has(model)) continue;
      const isChain = Object.hasOwn(table, model) || Object.hasOwn(asObject(value.aliases), model);
      const message = isChain
        ? `'${model}' is an alias itself; give the id of a model`
        : noSuchName('model', model, models);
      yield { path: [...path, name], message };
    }
}

/** The tables of a configuration, each with its path. */
function* tablesOf(value: Json, stages: readonly Json[]): Generator<[path: Path, table: Json]> {
  yield [['aliases'], asObject(value.aliases)];
  for (const [id, own] of ownAliases(value.accounts)) yield [['accounts', id, 'aliases'], own];
  for (const [at, stage] of stages.entries()) {
    const { names, accounts } = asObject(stage[stageName]);
    const below = ['stages', at, stageName];
    yield [[...below, 'names'], asObject(names)];
    for (const [id, own] of Object.entries(asObject(accounts)))
      yield [[...below, 'accounts', id], asObject(own)];
  }
}

type OwnAliases = readonly (readonly [account: string, aliases: Json])[];

/** What was found in accounts: there may be a million, and each reading of a large object takes a second. */
const found = new WeakMap<object, OwnAliases>();

/** The aliases of the accounts that have some. */
function ownAliases(accounts: unknown): OwnAliases {
  const all = asObject(accounts);
  let own = found.get(all);
  if (!own) {
    own = Object.entries(all).flatMap(([id, account]) => {
      const { aliases } = asObject(account);
      return aliases === undefined ? [] : [[id, asObject(aliases)] as const];
    });
    found.set(all, own);
  }
  return own;
}

/** Whether a configuration has aliases, of all or of an account. */
export const hasAliases = ({ aliases, accounts }: Pick<CheckedConfig, 'aliases' | 'accounts'>): boolean =>
  Object.keys(aliases).length > 0 || ownAliases(accounts).length > 0;

/** The stage with the aliases of a configuration, which is the first of its chain; none without aliases. */
export function aliasPlans(config: CheckedConfig): StagePlan[] {
  if (!hasAliases(config)) return [];
  const { aliases, accounts, aliases_in_replies } = config;
  const own = ownAliases(accounts) as readonly [string, Record<string, string>][];
  const options = { names: aliases, accounts: Object.fromEntries(own), in_replies: aliases_in_replies };
  return [aliasesStage(options).plan];
}

/** Reports the stage where it is listed beside aliases that it would not have. */
export function* checkAliasStage(
  config: CheckedConfig,
  stages: readonly { readonly name: string }[],
): Generator<ConfigIssue> {
  const at = stages.findIndex(({ name }) => name === stageName);
  if (at !== -1 && hasAliases(config))
    yield {
      path: ['stages', at],
      message: 'is in the chain already, for the aliases of the configuration; remove one of the two',
    };
}

/** The aliases that the catalog shows. */
export const listedAliases = ({ aliases, list_aliases }: CheckedConfig): AliasTable | undefined =>
  list_aliases ? new AliasTable(aliases) : undefined;

/** A warning for each alias, and each option of aliases, that has no effect. */
export function* aliasWarnings(config: CheckedConfig): Generator<string> {
  const { models, aliases, list_aliases, aliases_in_replies } = config;
  const known = new Set(models.map(({ id }) => id));
  for (const [path, table] of tablesOf(config, []))
    for (const name of Object.keys(table))
      if (known.has(name))
        yield `${path.join('.')}.${name}: has no effect: the catalog has a model of this name`;
  if (list_aliases && Object.keys(aliases).length === 0)
    yield 'list_aliases: has no effect: there are no aliases at the top level';
  if (!aliases_in_replies && !hasAliases(config))
    yield 'aliases_in_replies: has no effect: there are no aliases';
}
