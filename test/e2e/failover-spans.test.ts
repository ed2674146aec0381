import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { allWell, expectAnswerOf, openProviders } from '../support/failover-setting.ts';
import { bothWays } from '../support/hostile-setting.ts';
import { whole } from '../support/scripted-upstream.ts';
import { closeBalanced } from '../support/settlement.ts';

const exporter = new InMemorySpanExporter();
const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });

beforeAll(() => void trace.setGlobalTracerProvider(provider));
afterEach(closeBalanced);
afterEach(() => exporter.reset());
afterAll(() => provider.shutdown());

it.each(bothWays)(
  'records a span for every attempt, and usage only on the successful one ($way)',
  async ({ stream }) => {
    const books = await openProviders(3);
    allWell(books);
    books.upstream.reply(whole(503, ''));
    books.upstreams[1]!.reply(socket => void socket.resetAndDestroy());
    expectAnswerOf(3, await books.send(stream), ['upstream: status', 'second: unreachable']);
    const spans = exporter.getFinishedSpans();
    const attempts = spans
      .filter(({ kind }) => kind === SpanKind.CLIENT)
      .sort((a, b) => Number(a.attributes['sluice.attempt']) - Number(b.attributes['sluice.attempt']));
    const facts = attempts.map(({ attributes, status }) => [
      attributes['sluice.attempt'],
      attributes['sluice.provider'],
      attributes['error.type'],
      status.code === SpanStatusCode.ERROR,
      attributes['gen_ai.usage.output_tokens'],
    ]);
    expect(facts).toEqual([
      [1, 'upstream', 'status', true, undefined],
      [2, 'second', 'unreachable', true, undefined],
      [3, 'third', undefined, false, 31],
    ]);
    const server = spans.find(({ kind }) => kind === SpanKind.SERVER)!;
    expect(server.status.code).not.toBe(SpanStatusCode.ERROR);
    const retries = server.events.filter(({ name }) => name === 'retry');
    expect(retries.map(({ attributes }) => attributes?.['error.type'])).toEqual(['status', 'unreachable']);
    for (const attempt of attempts)
      expect(attempt.parentSpanContext?.spanId).toBe(server.spanContext().spanId);
  },
);
