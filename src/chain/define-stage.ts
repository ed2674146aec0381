import type { z } from 'zod';
import { createChain } from './create-chain.ts';
import type { Hooks, RequestHandler, StagePlan, StageSetup } from './stage-plan.ts';

/** A chain of this one stage for `app.use`, and the plan of it for `createChain`. */
export type StageHandler = RequestHandler & { readonly plan: StagePlan };

/** Makes a stage with options; carries its definition for configurations and documents. */
export interface StageFactory<Schema extends z.ZodType = z.ZodType> {
  (options?: z.input<Schema>): StageHandler;
  readonly stageName: string;
  readonly schema: Schema;
}

/**
 * Declares a stage: a name in kebab-case, a zod schema of its options with their documentation, and how to make its hooks.
 * The factory throws the schema's ZodError when options are wrong.
 */
export function defineStage<Schema extends z.ZodType>(definition: {
  name: string;
  schema: Schema;
  create(options: z.output<Schema>, setup: StageSetup): Hooks;
}): StageFactory<Schema> {
  const { name, schema, create } = definition;
  const factory = (options?: z.input<Schema>): StageHandler => {
    const checked = schema.parse(options ?? {});
    const plan: StagePlan = {
      name,
      options: checked,
      create: setup => ({ name, ...create(checked, setup) }),
    };
    let alone: RequestHandler | undefined;
    const handler: RequestHandler = (request, response, next) => {
      // Made on first use: within a chain or a gateway the handler itself is never called.
      alone ??= createChain([{ plan }]);
      alone(request, response, next);
    };
    return Object.assign(handler, { plan });
  };
  return Object.assign(factory, { stageName: name, schema });
}

/** Whether a module's export is what `defineStage` returned, of this copy of the package or another. */
export function isStageFactory(value: unknown): value is StageFactory {
  return typeof value === 'function' && 'stageName' in value && 'schema' in value;
}
