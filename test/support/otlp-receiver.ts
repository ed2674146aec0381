import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { decodedRequest } from './otlp-protobuf.ts';

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
  /** Resource attributes of the process that sent it. */
  readonly resource: Readonly<Record<string, unknown>>;
  /** The instrumentation that made it. */
  readonly scope: {
    readonly name: string;
    readonly version?: string | undefined;
    readonly schema_url?: string | undefined;
  };
}

export interface OtlpReceiver {
  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  readonly url: string;
  readonly spans: ReceivedSpan[];
  /** The last request, without its body. */
  readonly lastRequest: { path: string; headers: IncomingHttpHeaders } | undefined;
  /** Answers every request with this status from now on; accepts spans only with 200. */
  status: number;
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
    readonly scopeSpans: readonly {
      readonly scope: { readonly name: string; readonly version?: string };
      readonly schemaUrl?: string;
      readonly spans: readonly OtlpSpan[];
    }[];
  }[];
}

const attributesOf = (attributes: readonly OtlpAttribute[] = []): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, plainValue(value)]));

function plainValue(value: OtlpAttribute['value']): unknown {
  const [kind, content] = Object.entries(value)[0] ?? [];
  if (kind !== 'arrayValue') return content;
  return (content as { readonly values: readonly OtlpAttribute['value'][] }).values.map(plainValue);
}

/** Receives traces by OTLP over HTTP, in protobuf or, with `OTEL_EXPORTER_OTLP_PROTOCOL=http/json`, in JSON. */
export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const receiver: OtlpReceiver = {
    url: '',
    spans,
    lastRequest: undefined,
    status: 200,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const { headers, url: path = '' } = request;
    Object.assign(receiver, { lastRequest: { path, headers } });
    if (receiver.status !== 200) return void response.writeHead(receiver.status).end();
    const isJson = headers['content-type'] === 'application/json';
    const sent = Buffer.concat(parts);
    const body = headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent;
    const { resourceSpans } = (isJson ? JSON.parse(body.toString()) : decodedRequest(body)) as OtlpRequest;
    for (const { resource, scopeSpans } of resourceSpans) {
      const origin = attributesOf(resource.attributes);
      for (const { scope, schemaUrl, spans: sent } of scopeSpans) {
        const { name, version } = scope;
        spans.push(...sent.map(span => received(span, origin, { name, version, schema_url: schemaUrl })));
      }
    }
    response.writeHead(200, { 'content-type': headers['content-type'] }).end(isJson ? '{}' : '');
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return Object.assign(receiver, { url: `http://127.0.0.1:${port}` });
}

const received = (
  span: OtlpSpan,
  resource: Record<string, unknown>,
  scope: ReceivedSpan['scope'],
): ReceivedSpan => ({
  trace_id: span.traceId,
  span_id: span.spanId,
  parent_id: span.parentSpanId === '' ? undefined : span.parentSpanId,
  name: span.name,
  kind: span.kind,
  events: (span.events ?? []).map(({ name }) => name),
  attributes: attributesOf(span.attributes),
  failed: span.status?.code === 2,
  resource,
  scope,
});
