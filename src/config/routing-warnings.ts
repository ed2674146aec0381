import { routingSchema } from '../catalog/routing-schema.ts';
import type { CheckedConfig } from './schema.ts';

const ofSeveral = ['sticky', 'sticky_overload'] as const;
const ofRetries = [
  'max_attempts',
  'backoff_ms',
  'max_backoff_ms',
  'retry_ratio',
  'min_retries_per_second',
] as const;

/** Settings of `routing` for all models that no model can use. */
export function* routingWarnings({ routing, models, providers }: CheckedConfig): Generator<string> {
  if (models.some(({ upstreams }) => upstreams.length > 1)) return;
  const defaults = routingSchema.parse({});
  const differs = (name: keyof typeof defaults) => routing[name] !== defaults[name];
  for (const name of ofSeveral)
    if (differs(name)) yield `routing.${name}: has no effect: every model has one upstream`;
  const retries =
    routing.retries_per_upstream > 0 ||
    models.some(model => (model.routing.retries_per_upstream ?? 0) > 0) ||
    Object.values(providers).some(({ api_keys, api_key_file }) => api_keys ?? api_key_file);
  if (retries) return;
  for (const name of ofRetries)
    if (differs(name))
      yield `routing.${name}: has no effect: every model has one upstream, and retries_per_upstream is 0`;
}
