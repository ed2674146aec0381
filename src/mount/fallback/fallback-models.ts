import { allName } from '../../gateway/accounts/model-lists.ts';
import { type Catalog, type Model, takesImages } from '../../gateway/catalog/catalog.ts';
import type { RequestFormat } from '../../gateway/dialects/define-dialect.ts';
import { type ChatRequest, type Chunk, type Completion, imagesIn } from '../../gateway/exchange/canonical.ts';
import type { Exchange } from '../../gateway/exchange/exchange.ts';
import { hasContent } from '../../gateway/upstream/attempt/attempt-stream.ts';
import type { Fallback, FallbackReason } from '../../gateway/upstream/attempt/attempts.ts';
import type { LoadBalancer } from '../../gateway/upstream/routing/load-balancer.ts';
import type { Router } from '../../gateway/upstream/routing/router.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { markEvent } from '../../telemetry/tracing.ts';
import { mayFallBackTo, modelBeforeFallback } from './model-filter.ts';
import { refusalKindOf } from './refusal-kind.ts';

/** What fallbacks need of a gateway. */
interface Surroundings {
  readonly catalog: Catalog;
  readonly router: Pick<Router, 'balancerOf' | 'upstreamsOf'>;
  readonly metrics: Metrics;
}

type Kind = keyof NonNullable<Model['fallbacks']>;

/**
 * The models that take the place of the one that a request names: those in its `fallbacks` for what happened, each once. The fallbacks of
 * a fallback are not followed.
 */
export function fallbackModels(
  exchange: Exchange,
  format: Pick<RequestFormat, 'renamed'>,
  { catalog, router, metrics }: Surroundings,
): Fallback {
  const { fallbacks } = exchange.model!;
  const tried = new Set([exchange.model!.id]);
  const mayAnswer = (model: Model | undefined): model is Model =>
    model !== undefined &&
    !tried.has(model.id) &&
    router.upstreamsOf(model.id).length > 0 &&
    takes(model, exchange.request) &&
    mayFallBackTo(exchange, model.id) &&
    allName(exchange.account?.model_lists, model.id);
  const enter = (model: Model, kind: Kind): LoadBalancer => {
    const { request } = exchange;
    tried.add(model.id);
    metrics.routing.fellBack(request.model, model.id, kind);
    markEvent(exchange.span, 'fallback', { 'sluice.fallback': model.id, 'sluice.fallback_kind': kind });
    exchange.set(modelBeforeFallback, request.model);
    exchange.request = fitted(request, model);
    format.renamed?.(exchange.request, model);
    exchange.model = model;
    // The reply names the model that answers, not an alias of another.
    exchange.reply_model = undefined;
    return router.balancerOf(model.id);
  };
  return why => {
    const kind = kindOf(why);
    const model = kind && fallbacks?.[kind]?.map(id => catalog.find(id)).find(mayAnswer);
    return model && (() => enter(model, kind));
  };
}

function kindOf(why: FallbackReason): Kind | undefined {
  if (why === 'unavailable') return why;
  if (!('kind' in why)) return isFiltered(why) ? 'content_filter' : undefined;
  return why.kind === 'refused' ? refusalKindOf(why.error.message, why.body) : undefined;
}

/** Whether a filter has ended all of a reply, or a stream before its first word. */
function isFiltered(reply: Completion | readonly Chunk[]): boolean {
  if ('choices' in reply)
    return reply.choices.every(({ finish_reason }) => finish_reason === 'content_filter');
  const choices = reply.flatMap(chunk => chunk.choices);
  return choices.every(
    ({ delta, finish_reason }) =>
      (finish_reason === null || finish_reason === 'content_filter') && !hasContent(delta),
  );
}

/** Whether a model takes what the request cannot be without. */
function takes(model: Model, { operation, tools, messages }: ChatRequest): boolean {
  if (!(model.operations ?? ['chat']).includes(operation?.name ?? 'chat')) return false;
  if (tools?.length && !model.tool_calls) return false;
  return takesImages(model) || !messages.some(({ content }) => imagesIn(content) > 0);
}

/** The request for another model, with what the model does not have lowered to what it has. */
function fitted(request: ChatRequest, model: Model): ChatRequest {
  const { levels, default: usual } = model.reasoning_effort;
  const { max_tokens, reasoning_effort, ...rest } = request;
  const isLevel = reasoning_effort === undefined || levels.includes(reasoning_effort);
  const effort = isLevel ? reasoning_effort : usual;
  return {
    ...rest,
    unknown: { ...request.unknown },
    model: model.id,
    ...(max_tokens !== undefined && { max_tokens: Math.min(max_tokens, model.max_completion_tokens) }),
    ...(effort != null && { reasoning_effort: effort }),
  };
}
