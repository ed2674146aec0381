import { z } from 'zod';
import type { ConfigIssue } from '../../common/config-error.ts';
import { noSuchName } from '../../common/suggestion.ts';

const names = z.array(z.string()).catch([]);
const someNames = z.union([z.string().transform(name => [name]), z.array(z.string())]).catch([]);
const namesByKey = z.record(z.string(), names).catch({});
const whenSchema = z.object({ model: someNames, plan: someNames });
const stageSchema = z
  .object({
    'stream-rechunk': z.object({ classes: z.array(z.object({ when: whenSchema })) }).optional(),
    'model-access': z.object({ plans: namesByKey, accounts: namesByKey, others: names }).optional(),
  })
  .optional()
  .catch(undefined);
const schema = z.object({
  plans: z.record(z.string(), z.unknown()).catch({}),
  models: z
    .array(z.object({ id: z.string().optional().catch(undefined) }).catch({ id: undefined }))
    .catch([]),
  stages: z.array(stageSchema).catch([]),
});

/** Names that options of built-in stages may refer to. */
type Known = Readonly<Record<'model' | 'plan', readonly string[]>>;

/** Reports models and plans in the options of built-in stages that do not exist, and so would never match. */
export function* checkStageReferences(config: unknown): Generator<ConfigIssue> {
  const { success, data } = schema.safeParse(config);
  if (!success) return;
  const known = { model: data.models.flatMap(({ id }) => id ?? []), plan: Object.keys(data.plans) };
  for (const [at, stage] of data.stages.entries()) {
    yield* checkClasses(stage?.['stream-rechunk']?.classes ?? [], ['stages', at, 'stream-rechunk'], known);
    yield* checkModelAccess(stage?.['model-access'], ['stages', at, 'model-access'], known);
  }
}

type StageOptions = NonNullable<z.output<typeof stageSchema>>;
type Path = readonly PropertyKey[];

function* checkClasses(
  classes: NonNullable<StageOptions['stream-rechunk']>['classes'],
  path: Path,
  known: Known,
): Generator<ConfigIssue> {
  for (const [number, { when }] of classes.entries())
    for (const kind of ['model', 'plan'] as const)
      for (const name of when[kind].filter(given => !known[kind].includes(given)))
        yield {
          path: [...path, 'classes', number, 'when', kind],
          message: noSuchName(kind, name, known[kind]),
        };
}

/** Accounts are not checked: they may be in the records store. */
function* checkModelAccess(
  options: StageOptions['model-access'],
  path: Path,
  known: Known,
): Generator<ConfigIssue> {
  if (!options) return;
  const { plans, accounts, others } = options;
  for (const plan of Object.keys(plans))
    if (!known.plan.includes(plan))
      yield { path: [...path, 'plans', plan], message: noSuchName('plan', plan, known.plan) };
  const lists: [string[], readonly string[]][] = [[['others'], others]];
  for (const [section, byName] of Object.entries({ plans, accounts }))
    for (const [name, models] of Object.entries(byName)) lists.push([[section, name], models]);
  for (const [own, models] of lists)
    for (const [number, model] of models.entries())
      if (model !== '*' && !known.model.includes(model))
        yield { path: [...path, ...own, number], message: noSuchName('model', model, known.model) };
}
