import { isAbsolute, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ZodError } from 'zod';
import { builtInStages, defaultStages } from '../../plugins/index.ts';
import { isStageFactory, type StageFactory } from '../chain/define-stage.ts';
import type { StagePlan } from '../chain/stage-plan.ts';
import { ConfigError, type ConfigIssue, issuesOf } from '../diagnostics/config-error.ts';
import { suggested } from '../diagnostics/suggestion.ts';
import { asObject, isObject, type Json } from '../json-object.ts';
import { packageFile } from './package-file.ts';

type Entry = string | Record<string, unknown>;

const builtInNames = builtInStages.map(({ stageName }) => stageName);
const defaultNames = defaultStages.map(({ stageName }) => stageName);

/** The stages by name, in order, each with its options as they are written; by default those of the default chain. */
export const stagesOf = (entries: readonly Entry[] = defaultNames): ReadonlyMap<string, Json> =>
  new Map(
    entries.map(entry => {
      if (typeof entry === 'string') return [entry, {}];
      const [name, options] = Object.entries(entry)[0]!;
      return [name, asObject(options)];
    }),
  );

/**
 * Loads the chain of a configuration, which may be wrong elsewhere, so that all mistakes are reported in one run: those of stages are added
 * to `issues`. Relative paths start at `directory`.
 */
export async function loadStages(
  entries: unknown,
  directory: string,
  issues: ConfigIssue[],
): Promise<StagePlan[]> {
  const plans: StagePlan[] = [];
  for (const [at, entry] of (Array.isArray(entries) ? entries : defaultNames).entries()) {
    // The schema reports what is neither a name nor an object.
    if (entry === '' || (typeof entry !== 'string' && !isObject(entry))) continue;
    const path = ['stages', at];
    const [[name, options] = ['', {}], ...others] =
      typeof entry === 'string' ? [[entry, {}] as const] : Object.entries(entry);
    if (name === '' || others.length > 0) {
      issues.push({ path, message: 'must be one stage with its options; begin each stage with its own "-"' });
      continue;
    }
    const plan = await loadStage(name, options ?? {}, directory, found => {
      const below = typeof entry === 'string' ? path : [...path, name];
      issues.push(...found.map(issue => ({ ...issue, path: [...below, ...issue.path] })));
    });
    if (plan && plans.some(other => other.name === plan.name))
      issues.push({ path, message: `the stage ${plan.name} is listed twice` });
    if (plan) plans.push(plan);
  }
  return plans;
}

async function loadStage(
  name: string,
  options: unknown,
  directory: string,
  report: (issues: readonly ConfigIssue[]) => void,
): Promise<StagePlan | undefined> {
  let factory = builtInStages.find(({ stageName }) => stageName === name);
  try {
    factory ??= await importStage(name, directory);
    return factory(options as never).plan;
  } catch (thrown) {
    report(mistakesIn(thrown, factory, options));
    return undefined;
  }
}

/** What is wrong with a stage or its options; a factory of another copy of the package may throw what zod found. */
function mistakesIn(
  thrown: unknown,
  factory: StageFactory | undefined,
  options: unknown,
): readonly ConfigIssue[] {
  if (factory && thrown instanceof ZodError) return issuesOf(thrown, factory.schema, options);
  const { name, issues } = Object(thrown) as Partial<ConfigError>;
  if (name !== 'ConfigError' || issues === undefined) throw thrown;
  return issues;
}

/**
 * A stage of the user's own: a path beside the configuration, or a package. Its default export, or its only stage, is taken. Throws a
 * ConfigError.
 */
async function importStage(name: string, directory: string): Promise<StageFactory> {
  const isPath = name.startsWith('.') || isAbsolute(name);
  if (!isPath && !/^(@[\w.-]+\/)?[\w.-]+(\/[\w./-]+)?$/.test(name)) throw unknownStage(name);
  let module: Record<string, unknown>;
  try {
    const file = isPath ? resolve(directory, name) : packageFile(name, directory);
    module = await import(pathToFileURL(file).href);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (!isPath && code === 'MODULE_NOT_FOUND') throw unknownStage(name);
    throw mistake(`cannot be loaded: ${message.split('\n')[0]}`);
  }
  const [first, ...others] = isStageFactory(module.default)
    ? [module.default]
    : Object.values(module).filter(isStageFactory);
  if (!first || others.length > 0)
    throw mistake('must export a stage made with defineStage, as its default or only one');
  return first;
}

function unknownStage(name: string): ConfigError {
  const list = `built in are: ${builtInNames.join(', ')}; others by path (./my-stage.ts) or package`;
  return mistake(`there is no stage '${name}'${suggested(name, builtInNames, list)}`);
}

const mistake = (message: string): ConfigError => new ConfigError('stage', [{ path: [], message }]);
