import type { ConfigIssue } from '../common/config-error.ts';
import { asObject, type Json } from '../common/json-object.ts';
import type { DialectDefinition } from '../gateway/dialects/define-dialect.ts';
import { checkAliases, checkAliasStage } from './aliases.ts';
import { builtInDialects, isOffered } from './built-in-dialects.ts';
import { checkListeners } from './check-listeners.ts';
import { checkRouting } from './check-routing.ts';
import { checkSignIn } from './check-sign-in.ts';
import { checkTls } from './check-tls.ts';
import { checkAccess } from './checks/check-access.ts';
import { checkBodyBounds } from './checks/check-body-bounds.ts';
import { checkModelDefaults } from './checks/check-model-defaults.ts';
import { checkReferences } from './checks/check-references.ts';
import type { GivenPlugins } from './given-plugins.ts';
import { pluginsIn } from './import-plugin.ts';
import type { LoadedPlugins } from './load-plugins.ts';
import { checkProviderKeys } from './load-provider.ts';
import type { ListedStage } from './load-stages.ts';
import type { CheckedConfig } from './schema.ts';

/** A configuration, valid or not, with its plugins and what the application gives beside it. */
export interface Candidate {
  readonly value: Json;
  readonly plugins: LoadedPlugins;
  readonly given: GivenPlugins;
  /** Where relative paths begin. */
  readonly directory: string;
}

/** What does not fit together in a configuration with its plugins, valid or not, in the order in which it is told. */
export function* mistakesTogether({
  value,
  given,
  directory,
  plugins: { adapters, dialects, stages, ofStages },
}: Candidate): Generator<Iterable<ConfigIssue>> {
  // Stages that are given as objects have their options inside.
  const listed = stages.map(({ name, options }) => ({ [name]: options }));
  const all: readonly DialectDefinition[] = [...builtInDialects, ...pluginsIn(dialects)];
  const offered = all.filter(one => isOffered(one, value));
  const known = {
    adapters: [...adapters].map(([name, adapter]) => ({ ...adapter, name })),
    paths: offered.flatMap(({ paths }) => Object.keys(paths)),
    operations: ['chat', 'passthrough', ...all.flatMap(({ operation = [] }) => operation)],
  };
  yield checkReferences({ ...value, stages: listed }, known);
  yield checkAliases(value, listed);
  yield checkRouting(value);
  yield checkModelDefaults(value);
  yield checkProviderKeys(value, directory);
  yield ofStages;
  if (given.stages && value.stages !== undefined)
    yield [
      { path: ['stages'], message: 'cannot be given here and in the configuration; remove one of the two' },
    ];
  const message = 'cannot be given here and as the option records; remove one of the two';
  if (given.records && asObject(value.stores).records !== undefined)
    yield [{ path: ['stores', 'records'], message }];
}

/** What is wrong with a configuration of the right form, of which `issues` are known. */
export function* mistakesIn(
  config: CheckedConfig,
  { plugins: { stages }, given, directory }: Candidate,
  issues: readonly ConfigIssue[],
): Generator<ConfigIssue> {
  // An unknown stage may have been meant to be auth.
  const areStages = issues.every(({ path }) => path[0] !== 'stages' || path.length > 3);
  if (areStages) yield* checkStageAccess(config, stages, given);
  yield* checkAliasStage(config, stages);
  yield* checkListeners(config);
  yield* checkBodyBounds(config.server, ['server']);
  yield* checkSignIn(config);
  yield* checkTls(config, directory);
}

/** Checks that the stages enforce keys and limits, and in which order. */
function* checkStageAccess(
  { accounts, plans, server }: CheckedConfig,
  stages: readonly ListedStage[],
  given: GivenPlugins,
): Generator<ConfigIssue> {
  // Of a stage with wrong options it is not known whether it authenticates; nothing is reported for that.
  const access = stages.map(({ name, plan }) => ({
    name,
    authenticates: plan?.authenticates ?? (name === 'auth' || !server.open),
  }));
  yield* checkAccess(
    { stages: access, accounts, plans, open: server.open, accountOf: given.accountOf !== undefined },
    { path: ['server', 'open'], written: 'server: { open: true }', mayBeInner: false },
  );
  for (const [stage, own] of Object.entries({ auth: 'accounts', 'rate-limit': 'plans' })) {
    const at = stages.findIndex(({ name }) => name === stage);
    if (stages[at]?.options[own] !== undefined)
      yield { path: ['stages', at, stage, own], message: `belongs to ${own}, at the top level` };
  }
}
