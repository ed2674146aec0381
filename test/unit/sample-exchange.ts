import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { trace } from '@opentelemetry/api';
import { systemClock } from '../../src/common/clock.ts';
import { defaultModels } from '../../src/config/example-models.ts';
import { modelSchema } from '../../src/config/model-schema.ts';
import type { Model } from '../../src/gateway/catalog/catalog.ts';
import type { ChatRequest } from '../../src/gateway/exchange/canonical.ts';
import { Exchange, type ExchangeStart } from '../../src/gateway/exchange/exchange.ts';
import { createLog } from '../../src/telemetry/log.ts';

const log = createLog('silent');

/** A model of the example catalog as a gateway has it: the first, which reasons, with `changes`. */
export function sampleModel(changes: Partial<Model> = {}): Model {
  const [first] = defaultModels('upstream');
  return { ...modelSchema.parse(first), extra_parameters: [], ...changes };
}

/** The least that a client can ask, with `changes`. */
export function sampleRequest(changes: Partial<ChatRequest> = {}): ChatRequest {
  return {
    model: 'aion-labs/aion-3.5',
    messages: [{ role: 'user', content: 'Why do rivers bend?' }],
    stream: false,
    parameters: {},
    unknown: {},
    ...changes,
  };
}

/** An exchange whose headers have arrived; with its request and model where the test names them. */
export function sampleExchange(
  parts: { request?: Partial<ChatRequest>; model?: Partial<Model>; start?: Partial<ExchangeStart> } = {},
): Exchange {
  const exchange = new Exchange({
    id: 'req_1',
    endpoint: { name: 'chat.completions', public: false },
    method: 'POST',
    path: '/v1/chat/completions',
    headers: {},
    incoming: new IncomingMessage(new Socket()),
    client_address: '192.0.2.7',
    log,
    clock: systemClock,
    span: trace.getTracer('test').startSpan('test'),
    ...parts.start,
  });
  if (parts.request) exchange.request = sampleRequest(parts.request);
  if (parts.model) exchange.model = sampleModel(parts.model);
  return exchange;
}
