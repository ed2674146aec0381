import { isAbsolute, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ZodError } from 'zod';
import { builtInStages } from '../../plugins/index.ts';
import { isStageFactory, type StageFactory } from '../chain/define-stage.ts';
import type { StagePlan } from '../chain/stage-plan.ts';
import { type ConfigError, type ConfigIssue, issuesOf } from '../diagnostics/config-error.ts';
import { suggested } from '../diagnostics/suggestion.ts';
import { packageFile } from './package-file.ts';

type Entry = string | Record<string, unknown>;

/** The chain that the configuration asks for; mistakes are added to `issues`. Relative paths start at `directory`. */
export async function loadStages(
  entries: readonly (Entry | undefined)[] | undefined,
  directory: string,
  issues: ConfigIssue[],
): Promise<StagePlan[]> {
  const plans: StagePlan[] = [];
  const wanted: readonly (Entry | undefined)[] = entries ?? builtInStages.map(({ stageName }) => stageName);
  for (const [at, entry] of wanted.entries()) {
    if (entry === undefined) continue;
    const names = typeof entry === 'string' ? [entry] : Object.keys(entry);
    const path = ['stages', at];
    if (names.length !== 1) {
      issues.push({ path, message: 'must be one stage with its options; begin each stage with its own "-"' });
      continue;
    }
    const name = names[0]!;
    const options = typeof entry === 'string' ? {} : (entry[name] ?? {});
    const plan = await loadStage(
      name,
      options,
      directory,
      [...path, ...(typeof entry === 'string' ? [] : [name])],
      issues,
    );
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
  path: PropertyKey[],
  issues: ConfigIssue[],
): Promise<StagePlan | undefined> {
  const factory =
    builtInStages.find(({ stageName }) => stageName === name) ??
    (await importStage(name, directory, path, issues));
  if (!factory) return undefined;
  try {
    return factory(options as never).plan;
  } catch (thrown) {
    for (const issue of mistakesIn(thrown, factory, options)) {
      issues.push({ ...issue, path: [...path, ...issue.path] });
    }
    return undefined;
  }
}

/** What a factory threw about its options; one of another copy of the package may throw what zod found. */
function mistakesIn(thrown: unknown, factory: StageFactory, options: unknown): readonly ConfigIssue[] {
  if (thrown instanceof ZodError) return issuesOf(thrown, factory.schema, options);
  const { name, issues } = Object(thrown) as Partial<ConfigError>;
  if (name !== 'ConfigError' || issues === undefined) throw thrown;
  return issues;
}

/** A stage of the user's own: a path beside the configuration, or a package. Its default export, or its only stage, is taken. */
async function importStage(
  name: string,
  directory: string,
  path: PropertyKey[],
  issues: ConfigIssue[],
): Promise<StageFactory | undefined> {
  const isPath = name.startsWith('.') || isAbsolute(name);
  if (!isPath && !/^(@[\w.-]+\/)?[\w.-]+(\/[\w./-]+)?$/.test(name)) return unknownStage(name, path, issues);
  let module: Record<string, unknown>;
  try {
    const file = isPath ? resolve(directory, name) : packageFile(name, directory);
    module = await import(pathToFileURL(file).href);
  } catch (cause) {
    if (!isPath && (cause as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND')
      return unknownStage(name, path, issues);
    issues.push({ path, message: `cannot be loaded: ${(cause as Error).message.split('\n')[0]}` });
    return undefined;
  }
  const factories = Object.values(module).filter(isStageFactory);
  const factory = isStageFactory(module.default)
    ? module.default
    : factories.length === 1
      ? factories[0]
      : undefined;
  if (!factory)
    issues.push({ path, message: 'must export a stage made with defineStage, as its default or only one' });
  return factory;
}

function unknownStage(name: string, path: PropertyKey[], issues: ConfigIssue[]): undefined {
  const names = builtInStages.map(({ stageName }) => stageName);
  const list = `built in are: ${names.join(', ')}; others by path (./my-stage.ts) or package`;
  issues.push({ path, message: `there is no stage '${name}'${suggested(name, names, list)}` });
}
