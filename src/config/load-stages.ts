import { ZodError } from 'zod';
import { builtInStages, defaultStages } from '../../plugins/index.ts';
import { type ConfigError, type ConfigIssue, issuesOf } from '../common/config-error.ts';
import { asObject, isObject, type Json } from '../common/json-object.ts';
import { suggested } from '../common/suggestion.ts';
import { isStageFactory, type StageFactory, type StagePlan } from '../gateway/exchange/stage-plan.ts';
import { nameTaken, planOf } from './checks/given-stage.ts';
import {
  importPlugin,
  messageOf,
  type PluginKind,
  type PluginPlace,
  pluginMistake,
} from './import-plugin.ts';

/** An entry of the chain. */
export interface ListedStage {
  /** The stage's name, or what is written in its place if it could not be loaded. */
  readonly name: string;
  /** As they are written; of a stage that is given as an object, as its schema has parsed them. */
  readonly options: Json;
  /** Undefined if anything is wrong with the entry. */
  readonly plan: StagePlan | undefined;
}

const builtInNames = builtInStages.map(({ stageName }) => stageName);
const defaultNames = defaultStages.map(({ stageName }) => stageName);

const stageKind: PluginKind<StageFactory> = { what: 'a stage', maker: 'defineStage', is: isStageFactory };

/**
 * Loads the chain of a configuration, which may be wrong elsewhere, so that all mistakes are reported in one run: those of stages are added
 * to `issues`. Without a list the chain is the default one.
 */
export async function loadStages(
  entries: unknown,
  place: PluginPlace,
  issues: ConfigIssue[],
): Promise<ListedStage[]> {
  const listed: ListedStage[] = [];
  for (const [at, entry] of (Array.isArray(entries) ? entries : defaultNames).entries()) {
    const report = (found: readonly ConfigIssue[], below: readonly PropertyKey[] = []) =>
      issues.push(...found.map(issue => ({ ...issue, path: ['stages', at, ...below, ...issue.path] })));
    const stage = isGiven(entry) ? givenStage(entry, report) : await writtenStage(entry, place, report);
    const message = stage.plan && takenName(stage.plan, listed);
    if (message !== undefined) report([{ path: [], message }]);
    listed.push(stage);
  }
  return listed;
}

type Report = (issues: readonly ConfigIssue[], below?: readonly PropertyKey[]) => void;

/** Whether an entry is a stage, or was meant to be one, rather than the name of one. */
const isGiven = (entry: unknown): boolean =>
  typeof entry === 'function' || typeof Object(Object(entry).plan).create === 'function';

function givenStage(entry: unknown, report: Report): ListedStage {
  const plan = planOf(entry);
  if (typeof plan !== 'string') return { name: plan.name, options: asObject(plan.options), plan };
  report([{ path: [], message: plan }]);
  return { name: '', options: {}, plan: undefined };
}

async function writtenStage(entry: unknown, place: PluginPlace, report: Report): Promise<ListedStage> {
  const nothing = { name: '', options: {}, plan: undefined };
  if (entry === '' || (typeof entry !== 'string' && !isObject(entry))) {
    report([{ path: [], message: 'must be the name of a stage, or one name with its options' }]);
    return nothing;
  }
  if (typeof entry !== 'string' && Object.values(entry).some(value => typeof value === 'function')) {
    report([
      { path: [], message: 'must be a stage made with defineStage({ name, create }), not its hooks alone' },
    ]);
    return nothing;
  }
  const [[name, options] = ['', {}], ...others] =
    typeof entry === 'string' ? [[entry, {}] as const] : Object.entries(entry);
  if (name === '' || others.length > 0) {
    const message = 'must be one stage with its options; begin each stage with its own "-"';
    report([{ path: [], message }]);
    return nothing;
  }
  const below = typeof entry === 'string' ? [] : [name];
  let factory = builtInStages.find(({ stageName }) => stageName === name);
  try {
    factory ??= await importPlugin(stageKind, name, place);
    if (!factory) throw unknownStage(name);
    const { plan } = factory((options ?? {}) as never);
    return { name: plan.name, options: asObject(options), plan };
  } catch (thrown) {
    report(mistakesIn(thrown, factory, options), below);
    return { name: factory?.stageName ?? name, options: asObject(options), plan: undefined };
  }
}

/** A sentence if the stage has the name of an earlier one, or of a built-in one that it is not. */
function takenName(plan: StagePlan, listed: readonly ListedStage[]): string | undefined {
  const builtIn = builtInStages.find(({ stageName }) => stageName === plan.name);
  if (builtIn && builtIn.schema !== plan.schema)
    return `the name ${plan.name} is taken by a built-in stage; give this one another name`;
  return nameTaken(
    plan,
    listed.map(other => other.plan),
  );
}

/** What is wrong with a stage or its options; a factory of another copy of the package may throw what zod found. */
function mistakesIn(
  thrown: unknown,
  factory: StageFactory | undefined,
  options: unknown,
): readonly ConfigIssue[] {
  if (factory && thrown instanceof ZodError) return issuesOf(thrown, factory.schema, options);
  const { name, issues } = Object(thrown) as Partial<ConfigError>;
  if (name === 'ConfigError' && issues !== undefined) return issues;
  return [{ path: [], message: `cannot be made: ${messageOf(thrown)}` }];
}

function unknownStage(name: string): ConfigError {
  const list = `built in are: ${builtInNames.join(', ')}; others by path (./my-stage.ts) or package`;
  return pluginMistake(`there is no stage '${name}'${suggested(name, builtInNames, list)}`);
}
