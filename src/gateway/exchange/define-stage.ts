import { z } from 'zod';
import { ConfigError, checkCreated, checkedBy } from '../../common/config-error.ts';
import { shown } from '../../common/field-path.ts';
import { aFunction } from '../../common/methods.ts';
import { isPromise } from '../../common/refused-promise.ts';
import type {
  Hooks,
  RequestHandler,
  StageFactory,
  StageHandler,
  StagePlan,
  StageSetup,
} from './stage-plan.ts';

/** Makes a handler of a single stage. What creates chains stands above this file and has itself entered here. */
let chainOf: ((stage: { readonly plan: StagePlan }) => RequestHandler) | undefined;

/** Enters what handlers of single stages are made with. */
export function makeHandlersWith(create: NonNullable<typeof chainOf>): void {
  chainOf = create;
}

/** The schema of a stage that has none. */
const noOptions = z.strictObject({});

/**
 * Declares a stage: its name in kebab-case, a zod schema of its options with their documentation, and a function that creates its hooks.
 * Without a schema the stage takes no options. The factory throws a ConfigError if options are wrong.
 */
export function defineStage<Schema extends z.ZodType = typeof noOptions>(definition: {
  name: string;
  schema?: Schema;
  /** Prefix of its metrics' names, in place of `sluice_` and its own name. */
  metricPrefix?: string;
  /** True for a stage that refuses requests for which it finds no account, as `auth` does; its chain then needs no `auth`. */
  authenticates?: boolean;
  create(options: z.output<Schema>, setup: StageSetup): Hooks;
}): StageFactory<z.input<Schema>> {
  checkedBy('defineStage', definitionSchema, definition);
  const { name, metricPrefix, authenticates = false, create } = definition;
  const schema = definition.schema ?? (noOptions as unknown as Schema);
  const factory = (options?: z.input<Schema>): StageHandler => {
    const checked = checkedBy(`options of the stage ${name}`, schema, options ?? {});
    const plan: StagePlan = {
      name,
      metricPrefix,
      authenticates,
      schema,
      options: checked,
      create: setup => ({ name, ...checkedHooks(name, create(checked, setup)) }),
    };
    let alone: RequestHandler | undefined;
    const handler: RequestHandler = (request, response, next) => {
      // Created on first use: within a chain or a gateway this handler is never called.
      alone ??= chainOf?.({ plan });
      if (!alone) throw new Error("a stage is a handler once 'sluice' or 'sluice/plugin' is imported");
      alone(request, response, next);
    };
    return Object.assign(handler, { plan });
  };
  return Object.assign(factory, { stageName: name, schema: schema as z.ZodType<unknown, z.input<Schema>> });
}

const definitionSchema = z.strictObject({
  name: z.string().regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'must be in kebab-case, such as my-stage'),
  metricPrefix: z
    .string()
    .regex(/^[a-z][a-z0-9_]*_$/, 'must be in snake_case and end with _')
    .optional(),
  authenticates: z.boolean('must be true or false').optional(),
  schema: z
    .custom<z.ZodType>(value => 'safeParse' in Object(value), 'must be a zod schema of the options')
    .optional(),
  create: aFunction('it gets the options and the setup, and returns the hooks'),
});

const hookSchema = z.strictObject(
  Object.fromEntries(
    ['onHeaders', 'onRequest', 'onReply', 'onStream', 'onError', 'onSettled', 'close'].map(hook => [
      hook,
      aFunction('it is a hook').optional(),
    ]),
  ),
);

/** Returns `hooks`. Throws if there is none, or if one is misspelt, and so would never run, or is not a function. */
function checkedHooks(name: string, hooks: Hooks): Hooks {
  const source = `hooks of the stage ${name}`;
  const mistake = (message: string) => new ConfigError(source, [{ path: [], message }]);
  if (isPromise(hooks)) checkCreated(source, hookSchema, hooks);
  if (typeof hooks !== 'object' || hooks === null)
    throw mistake(
      `create returned ${hooks == null ? 'nothing' : shown(hooks)}; it must return an object of hooks`,
    );
  const members = membersOf(hooks);
  const named = Object.entries(members).filter(([key]) => /^on[A-Z]|^close$/.test(key));
  checkCreated(source, hookSchema, Object.fromEntries(named));
  if (named.every(([, hook]) => hook === undefined))
    throw mistake(
      `create returned none, so the stage would do nothing; there are: ${Object.keys(hookSchema.shape).join(', ')}`,
    );
  return members;
}

/** The hooks of an object, or of an object of a class, whose methods stand in its prototypes. */
function membersOf(hooks: Hooks): Hooks {
  const members: Record<string, unknown> = {};
  let owner: object = Object.getPrototypeOf(hooks) ?? {};
  for (let next = Object.getPrototypeOf(owner); next !== null; next = Object.getPrototypeOf(owner)) {
    for (const key of Object.getOwnPropertyNames(owner)) {
      const member: unknown = hooks[key as keyof Hooks];
      if (typeof member === 'function') members[key] ??= member.bind(hooks);
    }
    owner = next;
  }
  return { ...members, ...hooks };
}
