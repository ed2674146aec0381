import { z } from 'zod';
import type { ConfigIssue } from '../diagnostics/config-error.ts';

/** A wrong field is read as absent here: its own schema reports it. */
const number = z.number().optional().catch(undefined);
const word = z.string().optional().catch(undefined);

const routing = z
  .object({ max_attempts: number, retries_per_upstream: number, sticky: word })
  .loose()
  .catch({});

const routingSchema = z.object({
  providers: z
    .record(
      z.string(),
      z
        .object({
          max_concurrent: number,
          max_queue: number,
          queue_timeout_ms: number,
          first_token_timeout_ms: number,
          total_timeout_ms: number,
          breaker: z.object({ consecutive_failures: number, failure_ratio: number }).loose().catch({}),
        })
        .catch({ breaker: {} }),
    )
    .catch({}),
  routing,
  models: z
    .array(
      z
        .object({
          upstreams: z
            .array(z.object({ provider: word, model: word, priority: number, weight: number }).catch({}))
            .catch([]),
          routing,
        })
        .catch({ upstreams: [], routing: {} }),
    )
    .catch([]),
});
type Read = z.output<typeof routingSchema>;
type Routing = Read['routing'];

/** Reports settings of providers and routing that have no effect, even in a configuration that is wrong elsewhere. */
export function checkRouting(config: unknown): ConfigIssue[] {
  const read = routingSchema.safeParse(config);
  if (!read.success) return [];
  const { providers, models } = read.data;
  return [
    ...Object.entries(providers).flatMap(([name, provider]) => [...checkProvider(name, provider)]),
    ...checkAttempts(read.data.routing, {}, ['routing']),
    ...models.flatMap((model, at) => [
      ...checkUpstreams(model, at),
      ...checkModel(model, read.data.routing, at),
    ]),
  ];
}

function* checkProvider(name: string, provider: Read['providers'][string]): Generator<ConfigIssue> {
  const { max_concurrent, max_queue, queue_timeout_ms, first_token_timeout_ms, total_timeout_ms, breaker } =
    provider;
  const path = (...rest: string[]) => ['providers', name, ...rest];
  const noEffect = (field: string, why: string) => ({ path: path(field), message: `has no effect: ${why}` });
  if (max_queue && max_concurrent === undefined)
    yield noEffect('max_queue', 'without max_concurrent there are always places');
  if (queue_timeout_ms !== undefined && !max_queue)
    yield noEffect('queue_timeout_ms', 'without max_queue no request waits');
  if (first_token_timeout_ms && total_timeout_ms && first_token_timeout_ms >= total_timeout_ms)
    yield noEffect('first_token_timeout_ms', `total_timeout_ms is over after ${total_timeout_ms}`);
  const { consecutive_failures, failure_ratio, ...others } = breaker;
  const isOff = consecutive_failures === 0 && failure_ratio === 1;
  for (const field of Object.keys(others)) {
    const why = isOff ? 'the breaker never opens' : 'failure_ratio 1 looks at no window';
    if (isOff || (field === 'window' && failure_ratio === 1))
      yield { path: path('breaker', field), message: `has no effect: ${why}` };
  }
}

function* checkUpstreams({ upstreams }: Read['models'][number], at: number): Generator<ConfigIssue> {
  const seen = new Set<string>();
  for (const [number, { provider, model, priority = 1, weight = 1 }] of upstreams.entries()) {
    const path = ['models', at, 'upstreams', number];
    const name = `${provider} ${model}`;
    if (provider !== undefined && model !== undefined && seen.has(name))
      yield { path, message: `${model} at ${provider} is listed twice; use weight for a larger share` };
    seen.add(name);
    const isAlone = upstreams.every((other, index) => index === number || (other.priority ?? 1) !== priority);
    if (weight !== 1 && isAlone)
      yield {
        path: [...path, 'weight'],
        message: `has no effect: no other upstream has priority ${priority}`,
      };
  }
}

function* checkModel(
  { upstreams, routing: own }: Read['models'][number],
  global: Routing,
  at: number,
): Generator<ConfigIssue> {
  const path = ['models', at, 'routing'];
  yield* checkAttempts(own, global, path);
  if (upstreams.length !== 1) return;
  const noEffect = (field: string) => ({
    path: [...path, field],
    message: 'has no effect: the model has one upstream',
  });
  if (own.sticky === 'conversation') yield noEffect('sticky');
  const repeats = own.retries_per_upstream ?? global.retries_per_upstream ?? 0;
  if ((own.max_attempts ?? 1) > 1 && repeats === 0) yield noEffect('max_attempts');
}

/** Fields of `own` without effect because of others, of `own` or of those for all models. */
function* checkAttempts(
  own: Routing,
  global: Routing,
  path: readonly (string | number)[],
): Generator<ConfigIssue> {
  const noEffect = (field: string, why: string) => ({
    path: [...path, field],
    message: `has no effect: ${why}`,
  });
  const { max_attempts, retries_per_upstream = 0, sticky = 'none' } = { ...global, ...own };
  if (own.retries_per_upstream && max_attempts === 1)
    yield noEffect('retries_per_upstream', 'max_attempts is 1');
  // Settings for all models may be meant for models with other settings.
  if (path[0] === 'routing') return;
  if (own.sticky_overload !== undefined && sticky !== 'conversation')
    yield noEffect('sticky_overload', 'sticky is none');
  for (const field of ['backoff_ms', 'max_backoff_ms'])
    if (own[field] !== undefined && retries_per_upstream === 0)
      yield noEffect(field, 'retries_per_upstream is 0, and other upstreams are asked at once');
}
