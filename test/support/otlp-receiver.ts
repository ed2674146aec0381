import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A span as it came over the wire. */
export interface ReceivedSpan {
  readonly trace_id: string;
  readonly span_id: string;
  readonly parent_id: string | undefined;
  readonly name: string;
  readonly kind: number;
  readonly events: readonly string[];
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly failed: boolean;
  /** Of the process that sent it. */
  readonly resource: Readonly<Record<string, unknown>>;
}

export interface OtlpReceiver {
  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  readonly url: string;
  readonly spans: ReceivedSpan[];
  close(): void;
}

interface OtlpAttribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}
interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly attributes?: readonly OtlpAttribute[];
  readonly events?: readonly { readonly name: string }[];
  readonly status?: { readonly code?: number };
}
interface OtlpRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly OtlpAttribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[];
  }[];
}

const attributesOf = (attributes: readonly OtlpAttribute[] = []): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

/** Receives traces by OTLP over HTTP with JSON (`OTEL_EXPORTER_OTLP_PROTOCOL=http/json`). */
export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const { resourceSpans } = JSON.parse(Buffer.concat(parts).toString()) as OtlpRequest;
    for (const { resource, scopeSpans } of resourceSpans) {
      const origin = attributesOf(resource.attributes);
      for (const { spans: sent } of scopeSpans) spans.push(...sent.map(span => received(span, origin)));
    }
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

const received = (span: OtlpSpan, resource: Record<string, unknown>): ReceivedSpan => ({
  trace_id: span.traceId,
  span_id: span.spanId,
  parent_id: span.parentSpanId === '' ? undefined : span.parentSpanId,
  name: span.name,
  kind: span.kind,
  events: (span.events ?? []).map(({ name }) => name),
  attributes: attributesOf(span.attributes),
  failed: span.status?.code === 2,
  resource,
});
