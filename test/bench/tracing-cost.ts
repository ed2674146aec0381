/**
 * What tracing costs: everything that the gateway tells it of one whole reply, again and again, in a process of its own, less the same
 * without a word of it. Sends spans where OpenTelemetry's variables say, all of it within the figure; without them it is what is paid for
 * tracing that is off.
 */
import { setImmediate } from 'node:timers/promises';
import { INVALID_SPAN_CONTEXT, type Span, trace } from '@opentelemetry/api';
import { Registry } from 'prom-client';
import { StageTimes } from '../../src/chain/instrument.ts';
import { systemClock } from '../../src/clock.ts';
import { Exchange } from '../../src/exchange.ts';
import { endServerSpan, outcomeOf } from '../../src/settlement/settle.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { startTracing } from '../../src/telemetry/sdk.ts';
import { startServerSpan } from '../../src/telemetry/tracing.ts';
import { AttemptSpan } from '../../src/upstream/attempt/attempt-span.ts';
import type { Upstream } from '../../src/upstream/routing/upstream.ts';
import { hooks } from './whole-reply.ts';

const exchanges = 32_000;
/** As many come to the gateway between two looks at its sockets. */
const at_once = 32;
/** The first are for the compiler. */
const batches = 6;

const stages = hooks.map(([name]) => ({ name }));
const path = '/v1/chat/completions';
const asked = { id: 'req_0199e0a54c3b7d52a1f0c6e4b7a90d13', method: 'POST', path, route: path };
const headers = { authorization: 'Bearer key', 'content-type': 'application/json' };
const log = createLog('silent');
const noSpan = trace.wrapSpanContext(INVALID_SPAN_CONTEXT);
const upstream = {
  target: { model: 'aion-3.5' },
  provider: {
    name: 'upstream',
    adapter: { providerName: 'vllm' },
    address: { host: '127.0.0.1', port: 8000 },
    content: { capture_content: false, max_content_characters: 0 },
  },
} as unknown as Upstream;

function begun(span: Span): Exchange {
  const endpoint = { name: 'chat.completions', public: false } as const;
  const exchange = new Exchange({ ...asked, endpoint, headers, log, clock: systemClock, span });
  exchange.request = {
    model: 'aion-labs/aion-3.5',
    messages: [{ role: 'user', content: 'Why do rivers bend?' }],
    stream: false,
    max_tokens: 300,
    temperature: 0.7,
    parameters: {},
    unknown: {},
  };
  exchange.attempts = 1;
  exchange.end.replied(200);
  return exchange;
}

function untold(): void {
  const exchange = begun(noSpan);
  new StageTimes(stages, exchange, undefined, []);
  outcomeOf(exchange);
}

function told(): void {
  const exchange = begun(startServerSpan(asked, headers));
  const times = new StageTimes(stages, exchange, undefined, []);
  const start_ms = performance.now();
  for (const [index, [, hook]] of hooks.entries()) times.span(index, hook, start_ms, start_ms + 0.01, 0.01);
  const attempt = new AttemptSpan(exchange, upstream);
  Object.keys(attempt.headers);
  attempt.answered({
    choices: [{ index: 0, message: { role: 'assistant', content: '' }, finish_reason: 'stop' }],
  });
  attempt.ended(undefined);
  attempt.settled();
  endServerSpan(exchange, outcomeOf(exchange));
}

async function batch_us(work: () => void): Promise<number> {
  const from = process.cpuUsage();
  for (let done = 0; done < exchanges; done += at_once) {
    for (let one = 0; one < at_once; one++) work();
    await setImmediate();
  }
  const { user, system } = process.cpuUsage(from);
  return (user + system) / exchanges;
}

/** Of the two in turn, so that both are compiled alike. */
async function least_us(): Promise<number> {
  const least = { told: Number.POSITIVE_INFINITY, untold: Number.POSITIVE_INFINITY };
  for (let batch = 0; batch < batches; batch++) {
    const [without_us, with_us] = [await batch_us(untold), await batch_us(told)];
    if (batch === 0) continue;
    least.untold = Math.min(least.untold, without_us);
    least.told = Math.min(least.told, with_us);
  }
  return least.told - least.untold;
}

const registry = new Registry();
const end = await startTracing(process.env, registry);
const tracing_us = await least_us();
await end();
const spans = await registry.getSingleMetric('sluice_spans_sent_total')?.get();
process.send?.({ tracing_us, spans_sent: spans?.values[0]?.value ?? 0, exchanges: exchanges * batches }, () =>
  process.disconnect(),
);
