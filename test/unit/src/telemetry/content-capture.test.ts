import { describe, expect, it } from '@jest/globals';
import { trace } from '@opentelemetry/api';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { ContentCapture } from '../../../../src/telemetry/content-capture.ts';

const exporter = new InMemorySpanExporter();
const tracer = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }).getTracer('t');
const messages = [{ role: 'user', content: 'Why do rivers bend?' }];

/** What stands on a span with these limits after `said`. */
function captured(max_content_characters: number, said: (capture: ContentCapture) => void) {
  exporter.reset();
  const span = tracer.startSpan('chat');
  const capture = ContentCapture.of(span, { capture_content: true, max_content_characters }, messages)!;
  said(capture);
  capture.end();
  span.end();
  const { attributes } = exporter.getFinishedSpans()[0]!;
  return {
    input: attributes['gen_ai.input.messages'] as string,
    output: attributes['gen_ai.output.messages'] as string,
  };
}

describe('the capture of content', () => {
  it('puts the prompt and the whole answer on the span, assembled from its chunks', () => {
    const call = { id: 'call_1', function: { name: 'f', arguments: '{}' } };
    const { input, output } = captured(10_000, capture => {
      capture.said({ reasoning: 'Hm. ' });
      capture.said({ content: 'Because ' });
      capture.said({ content: 'of sand.' });
      capture.said({ tool_calls: [call] });
    });
    expect(JSON.parse(input)).toEqual(messages);
    expect(JSON.parse(output)).toEqual([
      { role: 'assistant', content: 'Because of sand.', reasoning: 'Hm. ', tool_calls: [call] },
    ]);
  });

  it('truncates each of them at the limit', () => {
    const { input, output } = captured(20, capture => {
      for (let piece = 0; piece < 100; piece++) capture.said({ content: 'a long answer ' });
    });
    expect([input.length, input.at(-1)]).toEqual([21, '…']);
    expect([output.length, output.at(-1)]).toEqual([21, '…']);
  });

  it('keeps at most 128 tool calls', () => {
    const { output } = captured(1e6, capture => {
      for (let call = 0; call < 200; call++) capture.said({ tool_calls: [{ id: call }] });
    });
    expect(JSON.parse(output)[0].tool_calls).toHaveLength(128);
  });

  it('captures nothing unless it is enabled and the span is recorded', () => {
    const [span, limits] = [tracer.startSpan('chat'), { max_content_characters: 100 }];
    expect(ContentCapture.of(span, { ...limits, capture_content: false }, messages)).toBeUndefined();
    const unrecorded = trace.wrapSpanContext(span.spanContext());
    expect(ContentCapture.of(unrecorded, { ...limits, capture_content: true }, messages)).toBeUndefined();
  });
});
