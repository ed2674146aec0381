import { expect, it } from '@jest/globals';
import type { HrTime, SpanContext } from '@opentelemetry/api';
import { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import fc from 'fast-check';
import { BatchWriter, requestOf } from '../../../../../src/telemetry/otlp/batch-writer.ts';
import { decodedRequest } from '../../../../support/otlp-protobuf.ts';

const hex = (length: number) =>
  fc.uint8Array({ minLength: length, maxLength: length }).map(bytes => Buffer.from(bytes).toString('hex'));
const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 200 }), fc.string({ maxLength: 300 }));
const number = fc.oneof(fc.maxSafeInteger(), fc.double(), fc.integer({ min: -300, max: 300 }));
const { value } = fc.letrec(tie => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    text,
    number,
    fc.boolean(),
    fc.uint8Array(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(fc.string(), tie('value'), { maxKeys: 5, noNullPrototype: true }),
  ),
}));
const attributes = fc.dictionary(fc.string({ minLength: 1 }), value, { maxKeys: 8, noNullPrototype: true });
const time = fc.tuple(fc.integer({ min: 0, max: 2 ** 33 }), fc.integer({ min: 0, max: 999_999_999 }));
const count = fc.nat();
const context = fc
  .record({
    traceId: hex(16),
    spanId: hex(8),
    traceFlags: fc.constantFrom(0, 1),
    isRemote: fc.boolean(),
    state: fc.constantFrom('', 'vendor=opaque', `a=${'x'.repeat(250)}`),
  })
  .map(({ state, ...ids }) => ({ ...ids, traceState: { serialize: () => state } }) as SpanContext);
const scope = fc.constantFrom({ name: 'sluice' }, { name: 'plugin', version: '1.2' }, { name: 'ünïcode' });
const resource = {
  attributes: { 'service.name': 'sluice', 'process.pid': 7, 'process.command_args': ['node', 'x'] },
};

const span = fc
  .record({
    name: text,
    kind: fc.constantFrom(0, 1, 2, 3, 4),
    context,
    parentSpanContext: fc.option(context, { nil: undefined }),
    startTime: time,
    endTime: time,
    attributes,
    status: fc.record(
      { code: fc.constantFrom(0, 1, 2), message: text },
      { requiredKeys: ['code'], noNullPrototype: true },
    ),
    events: fc.array(fc.record({ name: text, time, attributes, droppedAttributesCount: count }), {
      maxLength: 3,
    }),
    links: fc.array(fc.record({ context, attributes, droppedAttributesCount: count }), { maxLength: 2 }),
    droppedAttributesCount: count,
    droppedEventsCount: count,
    droppedLinksCount: count,
    instrumentationScope: scope,
  })
  .map(
    ({ context, ...rest }) => ({ ...rest, spanContext: () => context, resource }) as unknown as ReadableSpan,
  );

interface Decoded {
  readonly resourceSpans: readonly {
    readonly resource: object;
    readonly scopeSpans: readonly {
      readonly scope: { readonly name: string };
      readonly spans: readonly { readonly status: object | null }[];
    }[];
  }[];
}

/** Every span with its scope and resource; in an order that does not depend on how they were grouped. */
function spansIn(bytes: Uint8Array): string[] {
  const { resourceSpans } = decodedRequest(bytes, String) as Decoded;
  return resourceSpans
    .flatMap(({ resource, scopeSpans }) =>
      scopeSpans.flatMap(({ scope, spans }) =>
        spans.map(({ status, ...rest }) =>
          JSON.stringify({ resource, scope, ...rest, status: status ?? { message: '', code: 0 } }),
        ),
      ),
    )
    .sort();
}

it("says of any spans what OpenTelemetry's own serializer says", () => {
  fc.assert(
    fc.property(fc.array(fc.array(span, { minLength: 1, maxLength: 6 }), { maxLength: 3 }), batches => {
      const writer = new BatchWriter();
      for (const batch of batches) {
        for (const one of batch) writer.add(one);
        const written = writer.take();
        expect(written.spans).toBe(batch.length);
        const theirs = spansIn(ProtobufTraceSerializer.serializeRequest(batch)!);
        expect(spansIn(requestOf(written))).toEqual(theirs);
      }
    }),
    { numRuns: 300 },
  );
});

it.each([
  ['the last nanosecond of a second', [1_790_000_000, 999_999_999], '1790000000999999999'],
  ['a time that carries into the upper half', [4, 294_967_296], '4294967296'],
  ['the beginning', [0, 0], '0'],
])('writes %s to the nanosecond', (_, given, nanoseconds) => {
  const [one] = fc.sample(span, 1);
  const writer = new BatchWriter();
  writer.add({ ...one!, startTime: given as HrTime });
  const [written] = spansIn(requestOf(writer.take()));
  expect(JSON.parse(written!)).toMatchObject({ startTimeUnixNano: nanoseconds });
});
