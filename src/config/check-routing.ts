import type { ConfigIssue } from '../common/config-error.ts';
import { asObject, type Json, objectsIn } from '../common/json-object.ts';

type Path = readonly PropertyKey[];

const noEffect = (path: Path, why: string): ConfigIssue => ({ path, message: `has no effect: ${why}` });

/** The fields that are numbers; a wrong field is read as absent, since its own schema reports it. */
const numbersIn = (value: Json): Partial<Record<string, number>> =>
  Object.fromEntries(
    Object.entries(value).filter((field): field is [string, number] => typeof field[1] === 'number'),
  );

/** Reports settings of providers and routing that have no effect, even in a configuration that is wrong elsewhere. */
export function* checkRouting(config: unknown): Generator<ConfigIssue> {
  const { providers, routing, models } = asObject(config);
  for (const [name, provider] of Object.entries(asObject(providers)))
    yield* checkProvider(asObject(provider), ['providers', name]);
  const global = asObject(routing);
  yield* checkRetries(global, {}, ['routing']);
  const ids = objectsIn(models).map(({ id }) => id);
  for (const [at, { id, upstreams, routing: own, fallbacks }] of objectsIn(models).entries()) {
    yield* checkFallbacks(asObject(fallbacks), id, ids, ['models', at, 'fallbacks']);
    const listed = objectsIn(upstreams);
    yield* checkUpstreams(listed, ['models', at, 'upstreams']);
    yield* checkModel(asObject(own), global, listed.length === 1, ['models', at, 'routing']);
    yield* checkStrategy(asObject(own), global, listed, ['models', at, 'routing']);
  }
}

/** A fallback has to be another model of the catalog. */
function* checkFallbacks(
  fallbacks: Json,
  own: unknown,
  ids: readonly unknown[],
  path: Path,
): Generator<ConfigIssue> {
  for (const [kind, named] of Object.entries(fallbacks))
    for (const [at, id] of (Array.isArray(named) ? named : []).entries()) {
      if (id === own) yield { path: [...path, kind, at], message: 'is the model itself' };
      else if (typeof id === 'string' && !ids.includes(id))
        yield { path: [...path, kind, at], message: `there is no model '${id}'` };
    }
}

function* checkProvider(provider: Json, path: Path): Generator<ConfigIssue> {
  const { max_concurrent, max_queue, queue_timeout_ms, first_token_timeout_ms, total_timeout_ms } =
    numbersIn(provider);
  if (max_queue && max_concurrent === undefined)
    yield noEffect([...path, 'max_queue'], 'without max_concurrent there are always places');
  if (queue_timeout_ms !== undefined && !max_queue)
    yield noEffect([...path, 'queue_timeout_ms'], 'without max_queue no request waits');
  if (first_token_timeout_ms && total_timeout_ms && first_token_timeout_ms >= total_timeout_ms)
    yield noEffect([...path, 'first_token_timeout_ms'], `total_timeout_ms is over after ${total_timeout_ms}`);
  const breaker = asObject(provider.breaker);
  const { consecutive_failures, failure_ratio } = numbersIn(breaker);
  if (failure_ratio !== 1) return;
  for (const field of Object.keys(breaker)) {
    if (field === 'consecutive_failures' || field === 'failure_ratio') continue;
    if (consecutive_failures === 0) yield noEffect([...path, 'breaker', field], 'the breaker never opens');
    else if (field === 'window')
      yield noEffect([...path, 'breaker', field], 'failure_ratio 1 looks at no window');
  }
}

function* checkUpstreams(upstreams: readonly Json[], path: Path): Generator<ConfigIssue> {
  const priorityOf = (upstream: Json) => numbersIn(upstream).priority ?? 1;
  const seen = new Set<string>();
  for (const [at, upstream] of upstreams.entries()) {
    const { provider, model } = upstream;
    const name = `${provider} ${model}`;
    if (typeof provider === 'string' && typeof model === 'string' && seen.has(name))
      yield {
        path: [...path, at],
        message: `${model} at ${provider} is listed twice; use weight for a larger share`,
      };
    seen.add(name);
    const priority = priorityOf(upstream);
    const isAlone = upstreams.every((other, index) => index === at || priorityOf(other) !== priority);
    if ((numbersIn(upstream).weight ?? 1) !== 1 && isAlone)
      yield noEffect([...path, at, 'weight'], `no other upstream has priority ${priority}`);
  }
}

/** Fields of a model's routing that have no effect because of its upstreams, or of other fields. */
function* checkModel(own: Json, global: Json, isAlone: boolean, path: Path): Generator<ConfigIssue> {
  yield* checkRetries(own, global, path);
  const { retries_per_upstream = 0 } = { ...numbersIn(global), ...numbersIn(own) };
  const { sticky_overload, backoff_ms, max_backoff_ms, max_attempts = 1 } = numbersIn(own);
  if (sticky_overload !== undefined && (own.sticky ?? global.sticky) !== 'conversation')
    yield noEffect([...path, 'sticky_overload'], 'sticky is none');
  for (const [field, value] of Object.entries({ backoff_ms, max_backoff_ms }))
    if (value !== undefined && retries_per_upstream === 0)
      yield noEffect([...path, field], 'retries_per_upstream is 0, and other upstreams are asked at once');
  if (isAlone && own.sticky === 'conversation')
    yield noEffect([...path, 'sticky'], 'the model has one upstream');
  if (isAlone && max_attempts > 1 && retries_per_upstream === 0)
    yield noEffect([...path, 'max_attempts'], 'the model has one upstream');
}

/** A strategy chooses among several upstreams of one priority, unless conversations stay where they are. */
function* checkStrategy(
  own: Json,
  global: Json,
  upstreams: readonly Json[],
  path: Path,
): Generator<ConfigIssue> {
  const { strategy } = own;
  if (strategy === undefined || strategy === 'weighted') return;
  if (upstreams.length === 1) yield noEffect([...path, 'strategy'], 'the model has one upstream');
  else if ((own.sticky ?? global.sticky) === 'conversation')
    yield noEffect([...path, 'strategy'], 'sticky keeps conversations at one upstream');
  else if (strategy === 'lowest_cost' && !upstreams.some(({ paid_prices }) => paid_prices))
    yield noEffect([...path, 'strategy'], 'no upstream has paid_prices');
}

function* checkRetries(own: Json, global: Json, path: Path): Generator<ConfigIssue> {
  const { max_attempts } = { ...numbersIn(global), ...numbersIn(own) };
  if (numbersIn(own).retries_per_upstream && max_attempts === 1)
    yield noEffect([...path, 'retries_per_upstream'], 'max_attempts is 1');
}
