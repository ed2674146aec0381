import type { Attributes } from '@opentelemetry/api';
import { isObject } from '../../../common/json-object.ts';
import type { AttemptRecord } from '../../exchange/attempt-record.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import type { Provider } from '../http/provider.ts';
import type { Upstream } from '../routing/upstream.ts';

/** Characters that are kept of an id or a model's name in a reply, which an upstream can make as long as it likes. */
export const max_name_characters = 128;

/** The provider of a call, as attributes of its span. */
export const providerAttributes = ({ name, adapter, address }: Provider): Attributes => ({
  'gen_ai.provider.name': adapter.providerName,
  'sluice.provider': name,
  'server.address': address.host,
  'server.port': address.port,
});

/** A request, as attributes of the span of one attempt. Never its messages. */
export function requestAttributes(exchange: Exchange, { provider, target }: Upstream): Attributes {
  const { request, attempts, operation } = exchange;
  const { parameters, n = 1 } = request;
  return {
    'gen_ai.operation.name': operation,
    ...providerAttributes(provider),
    'gen_ai.request.model': target.model,
    ...(request.stream && { 'gen_ai.request.stream': true }),
    'gen_ai.request.max_tokens': request.max_tokens || undefined,
    'gen_ai.request.temperature': request.temperature,
    'gen_ai.request.top_p': numberIn(parameters.top_p),
    'gen_ai.request.frequency_penalty': numberIn(parameters.frequency_penalty),
    'gen_ai.request.presence_penalty': numberIn(parameters.presence_penalty),
    'gen_ai.request.seed': numberIn(parameters.seed),
    'gen_ai.request.stop_sequences': request.stop,
    'gen_ai.request.reasoning.level': request.reasoning_effort,
    ...(n !== 1 && { 'gen_ai.request.choice.count': n }),
    'gen_ai.output.type': outputType(parameters.response_format),
    'sluice.attempt': attempts.length,
  };
}

const numberIn = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);

function outputType(response_format: unknown): 'json' | 'text' | undefined {
  if (!isObject(response_format)) return undefined;
  const { type } = response_format;
  return type === 'text' ? 'text' : type === 'json_object' || type === 'json_schema' ? 'json' : undefined;
}

/** What is recorded of an attempt, as attributes of its span. */
export const attemptAttributes = ({ status, wait_ms }: AttemptRecord): Attributes => ({
  'http.response.status_code': status,
  'sluice.wait_ms': wait_ms,
});

/** Tokens of an exchange, as attributes of the span of the call that used them. */
export const usageAttributes = (usage: Exchange['usage']): Attributes => ({
  'gen_ai.usage.input_tokens': usage.prompt_tokens,
  'gen_ai.usage.output_tokens': usage.completion_tokens,
  'gen_ai.usage.cache_read.input_tokens': usage.cached_tokens,
  'gen_ai.usage.cache_write.input_tokens': usage.cache_creation_tokens,
  'gen_ai.usage.reasoning.output_tokens': usage.completion_details?.reasoning_tokens,
});
