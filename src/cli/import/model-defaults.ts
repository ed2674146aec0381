import { modelDefaultsSchema } from '../../config/model-defaults-schema.ts';
import type { Fields } from './fields.ts';
import type { Findings } from './findings.ts';

/** What requests of a model have where their client has left it out. */
export type ModelDefaults = Readonly<Record<string, unknown>>;

const { reasoning_effort: _, ...shape } = modelDefaultsSchema.shape;

/** Names of parameters that can be defaults, each with its name here. */
export const defaultNames: Readonly<Record<string, keyof typeof shape>> = {
  ...(Object.fromEntries(Object.keys(shape).map(name => [name, name])) as Record<string, keyof typeof shape>),
  max_completion_tokens: 'max_tokens',
};

/** The parameters among `fields` as defaults. One with a value that no request may have is noted. */
export function defaultsIn(fields: Fields, findings: Findings): ModelDefaults {
  const found: Record<string, unknown> = {};
  for (const [name, own] of Object.entries(defaultNames)) {
    const given = fields.value(name);
    if (given === undefined) continue;
    const parsed = shape[own].safeParse(own === 'stop' && typeof given === 'string' ? [given] : given);
    if (parsed.success) found[own] = parsed.data;
    else findings.lost([...fields.path, name], 'is no value that a request may have');
  }
  return found;
}
