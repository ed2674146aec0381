import { describe, expect, it } from '@jest/globals';
import { trace } from '@opentelemetry/api';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import type { Message } from '../../../../../../src/gateway/exchange/canonical.ts';
import { ContentCapture } from '../../../../../../src/gateway/upstream/attempt/content-capture.ts';

const exporter = new InMemorySpanExporter();
const tracer = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }).getTracer('t');
const messages: Message[] = [
  { role: 'system', content: 'Be brief.' },
  {
    role: 'user',
    content: [
      { type: 'text', text: 'Why do rivers bend?' },
      { type: 'image_url', image_url: { url: 'https://example.com/river.png' } },
    ],
  },
  {
    role: 'assistant',
    reasoning: 'Look it up.',
    tool_calls: [
      { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"at":"rivers"}' } },
    ],
  },
  { role: 'tool', tool_call_id: 'call_1', content: 'Sand.' },
];

/** What stands on a span with these limits after `said`. */
function captured(
  max_content_characters: number,
  said: (capture: ContentCapture) => void,
  asked: readonly Message[] = messages,
) {
  exporter.reset();
  const span = tracer.startSpan('chat');
  const capture = ContentCapture.of(span, { capture_content: true, max_content_characters }, asked)!;
  said(capture);
  capture.end(['stop']);
  span.end();
  const { attributes } = exporter.getFinishedSpans()[0]!;
  return {
    input: attributes['gen_ai.input.messages'] as string,
    output: attributes['gen_ai.output.messages'] as string,
  };
}

describe('the capture of content', () => {
  it('puts the prompt on the span as messages of parts', () => {
    const { input } = captured(10_000, () => {});
    expect(JSON.parse(input)).toEqual([
      { role: 'system', parts: [{ type: 'text', content: 'Be brief.' }] },
      {
        role: 'user',
        parts: [
          { type: 'text', content: 'Why do rivers bend?' },
          { type: 'uri', modality: 'image', uri: 'https://example.com/river.png' },
        ],
      },
      {
        role: 'assistant',
        parts: [
          { type: 'reasoning', content: 'Look it up.' },
          { type: 'tool_call', id: 'call_1', name: 'look', arguments: '{"at":"rivers"}' },
        ],
      },
      { role: 'tool', parts: [{ type: 'tool_call_response', id: 'call_1', response: 'Sand.' }] },
    ]);
  });

  it('puts the whole answer on the span, assembled from its chunks, with a message for each choice', () => {
    const { output } = captured(10_000, capture => {
      capture.said(1, { content: 'No.' });
      capture.said(0, { reasoning: 'Hm. ' });
      capture.said(0, { content: 'Because ' });
      capture.said(0, { content: 'of sand.' });
      capture.said(0, {
        tool_calls: [{ index: 0, id: 'call_2', function: { name: 'f', arguments: '{"a"' } }],
      });
      capture.said(0, { tool_calls: [{ index: 0, function: { arguments: ':1}' } }] });
    });
    expect(JSON.parse(output)).toEqual([
      {
        role: 'assistant',
        parts: [
          { type: 'reasoning', content: 'Hm. ' },
          { type: 'text', content: 'Because of sand.' },
          { type: 'tool_call', id: 'call_2', name: 'f', arguments: '{"a":1}' },
        ],
        finish_reason: 'stop',
      },
      { role: 'assistant', parts: [{ type: 'text', content: 'No.' }], finish_reason: 'error' },
    ]);
  });

  it('cuts the texts of each at the limit, and leaves both valid JSON', () => {
    const { input, output } = captured(20, capture => {
      for (let piece = 0; piece < 100; piece++) capture.said(0, { content: 'a long answer ' });
    });
    expect(JSON.parse(input)).toEqual([
      { role: 'system', parts: [{ type: 'text', content: 'Be brief.' }] },
      { role: 'user', parts: [{ type: 'text', content: 'Why do rive…' }] },
    ]);
    expect(JSON.parse(output)[0].parts).toEqual([{ type: 'text', content: 'a long answer a long…' }]);
  });

  it('keeps at most 128 tool calls and 128 choices', () => {
    const { output } = captured(1e6, capture => {
      const name = { name: 'f', arguments: '' };
      for (let at = 0; at < 200; at++) capture.said(0, { tool_calls: [{ index: at, function: name }] });
      for (let at = 0; at < 200; at++) capture.said(at, { content: 'x' });
    });
    const choices = JSON.parse(output) as { parts: { type: string }[] }[];
    expect(choices).toHaveLength(128);
    expect(choices[0]!.parts.filter(({ type }) => type === 'tool_call')).toHaveLength(128);
  });

  const call = { id: '', type: 'function', function: { name: '', arguments: '' } } as const;
  const many = <T>(one: T): T[] => Array.from({ length: 100_000 }, () => one);

  it.each<[string, Message[]]>([
    ['empty messages', many({ role: 'user', content: '' })],
    ['empty parts', [{ role: 'user', content: many({ type: 'text', text: '' }) }]],
    ['empty calls', [{ role: 'assistant', tool_calls: many(call) }]],
    ['a long id of a tool call', [{ role: 'tool', tool_call_id: 'x'.repeat(1_000_000), content: '' }]],
  ])('keeps a prompt of %s within bounds', (_, asked) => {
    const { input } = captured(1000, () => {}, asked);
    expect(input.length).toBeLessThan(200_000);
    expect(JSON.parse(input)).toMatchObject([{ role: asked[0]!.role }, ...JSON.parse(input).slice(1)]);
  });

  it('captures nothing unless it is enabled and the span is recorded', () => {
    const [span, limits] = [tracer.startSpan('chat'), { max_content_characters: 100 }];
    expect(ContentCapture.of(span, { ...limits, capture_content: false }, messages)).toBeUndefined();
    const unrecorded = trace.wrapSpanContext(span.spanContext());
    expect(ContentCapture.of(unrecorded, { ...limits, capture_content: true }, messages)).toBeUndefined();
  });
});
