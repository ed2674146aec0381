import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import {
  type Attributes,
  type Context,
  context,
  isSpanContextValid,
  propagation,
  type Span,
  SpanKind,
  trace,
} from '@opentelemetry/api';
import {
  alignClock,
  describeSpan,
  epochOf,
  isRecorded,
  isUntraced,
  noSpan,
  tracer,
  unlessTracingFails,
} from './tracing.ts';

/** What the span of an exchange says of its request beside what stands in its headers. */
export interface TracedRequest {
  readonly id: string;
  readonly method: string;
  /** Path as the client sent it, with what is before the gateway in an application. Never the query, which may hold anything. */
  readonly url_path: string;
  /** The path as it is configured, if the request's belongs to one; what spans are named by. */
  readonly route: string | undefined;
}

/** The parts of a request that its span shows. */
export type TracedMessage = Pick<IncomingMessage, 'headers' | 'httpVersion' | 'socket'>;

/** Methods that the HTTP conventions know; any other is `_OTHER`. */
const knownMethods: ReadonlySet<string> = new Set(
  'GET HEAD POST PUT DELETE CONNECT OPTIONS TRACE PATCH'.split(' '),
);

const max_path_characters = 512;
const max_user_agent_characters = 256;
const max_name_characters = 128;

/** The most that a client's tracestate may have (W3C trace context, 3.3.1); a larger one is dropped whole. */
const max_state = { characters: 512, members: 32 };

/**
 * Starts the span of an exchange. Below a span of the application that is active here it is INTERNAL, since that span stands for the request
 * already. Else it is SERVER, below the caller's span if the headers name one.
 */
export function startServerSpan(request: TracedRequest, incoming: TracedMessage): Span {
  if (isUntraced()) return noSpan;
  const span = unlessTracingFails(() => spanOf(request, incoming), noSpan);
  // Only now: computing them costs more than starting a span that is not sampled.
  if (isRecorded(span)) describeSpan(span, () => attributesOf(request, incoming));
  return span;
}

function spanOf({ method, route }: TracedRequest, { headers }: TracedMessage): Span {
  const active = context.active();
  const local = trace.getSpanContext(active);
  const isBelow = local !== undefined && isSpanContextValid(local);
  const kind = isBelow && local.isRemote !== true ? SpanKind.INTERNAL : SpanKind.SERVER;
  const parent = isBelow ? active : callerOf(active, headers);
  const shownMethod = knownMethods.has(method) ? method : 'HTTP';
  const name = route === undefined ? shownMethod : `${shownMethod} ${route}`;
  alignClock();
  return tracer().startSpan(name, { kind, startTime: epochOf(performance.now()) }, parent);
}

function callerOf(active: Context, headers: IncomingHttpHeaders): Context {
  const { tracestate } = headers;
  if (tracestate === undefined || !isTooLarge(String(tracestate)))
    return propagation.extract(active, headers);
  const { tracestate: _, ...rest } = headers;
  return propagation.extract(active, rest);
}

const isTooLarge = (tracestate: string): boolean =>
  tracestate.length > max_state.characters || tracestate.split(',').length > max_state.members;

function attributesOf({ id, method, url_path, route }: TracedRequest, incoming: TracedMessage): Attributes {
  const { headers, httpVersion, socket } = incoming;
  // Express gives these from the headers of the proxies that it trusts.
  const { protocol, ip } = incoming as { readonly protocol?: unknown; readonly ip?: unknown };
  const scheme = schemeOf(protocol ?? headers[':scheme'], socket);
  const isKnown = knownMethods.has(method);
  return {
    'http.request.method': isKnown ? method : '_OTHER',
    ...(!isKnown && { 'http.request.method_original': method.slice(0, max_name_characters) }),
    'http.route': route,
    'url.path': url_path.slice(0, max_path_characters),
    'url.scheme': scheme,
    ...serverOf(headers.host ?? headers[':authority'], scheme),
    // Behind a proxy that is trusted it is whatever the client has sent.
    'client.address': typeof ip === 'string' ? ip.slice(0, max_name_characters) : socket?.remoteAddress,
    'network.protocol.version': httpVersion === '2.0' ? '2' : httpVersion,
    'user_agent.original': headers['user-agent']?.slice(0, max_user_agent_characters),
    'sluice.request_id': id,
  };
}

function schemeOf(told: unknown, socket: TracedMessage['socket']): 'http' | 'https' {
  if (told === 'http' || told === 'https') return told;
  return (socket as Partial<TLSSocket> | undefined)?.encrypted === true ? 'https' : 'http';
}

/** `server.address` and `server.port` of a `Host` header; nothing for one that is no host. */
function serverOf(host: string | string[] | undefined, scheme: 'http' | 'https'): Attributes {
  const [, ipv6, name, port] =
    /^(?:\[([\da-f:.]{2,45})\]|([\w.~-]{1,255}))(?::(\d{1,5}))?$/i.exec(String(host ?? '')) ?? [];
  const address = ipv6 ?? name;
  const number = port === undefined ? { http: 80, https: 443 }[scheme] : Number(port);
  return address === undefined || number > 65_535 ? {} : { 'server.address': address, 'server.port': number };
}
