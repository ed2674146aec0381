import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import { acceptedEncodings } from '../../common/accepted-encodings.ts';
import { readEncodings } from '../../gateway/upstream/http/reply-body.ts';

/** Request headers that go upstream: those of the body and of content negotiation, never of the client or its connection. */
const requestHeaders = [
  'accept',
  'accept-encoding',
  'accept-language',
  'content-type',
  'content-length',
  'content-encoding',
  'range',
  'if-match',
  'if-none-match',
  'if-modified-since',
  'if-range',
] as const;

/** Reply headers that reach the client: those of the body; nothing of the server, its limits, cookies or connection. */
const replyHeaders = [
  'content-type',
  'content-length',
  'content-encoding',
  'content-language',
  'content-disposition',
  'content-range',
  'accept-ranges',
  'cache-control',
  'etag',
  'expires',
  'last-modified',
  'vary',
] as const;

const picked = (names: readonly string[], from: IncomingHttpHeaders): IncomingHttpHeaders => {
  const headers: IncomingHttpHeaders = {};
  for (const name of names) if (from[name] !== undefined) headers[name] = from[name];
  return headers;
};

/** The headers that go upstream: those of the list, `also` by name, and `own` over all of them. */
export function headersForUpstream(
  from: IncomingHttpHeaders,
  also: readonly string[],
  own: Readonly<Record<string, string>>,
): IncomingHttpHeaders {
  const headers = picked([...requestHeaders, ...also], from);
  // Without its framing a body would be read as the next request.
  if (headers['content-length'] === undefined && from['transfer-encoding'] !== undefined)
    headers['transfer-encoding'] = 'chunked';
  return { ...headers, ...own };
}

/**
 * Request headers of a call whose reply is read for its usage: asks only for encodings that are read and that the client accepts, and never
 * for a part, which ends before the usage.
 */
export function meteredHeaders(from: IncomingHttpHeaders): IncomingHttpHeaders {
  const { range, 'if-range': ifRange, 'accept-encoding': accepted, ...headers } = from;
  const read = acceptedEncodings(String(accepted ?? ''), readEncodings);
  return { ...headers, 'accept-encoding': read.join(', ') || 'identity' };
}

/** The headers that reach the client. A stream of events is kept from being held back on its way. */
export function headersForClient(from: IncomingHttpHeaders): OutgoingHttpHeaders {
  const headers = picked(replyHeaders, from);
  if (!String(headers['content-type']).startsWith('text/event-stream')) return headers;
  return { ...headers, 'cache-control': 'no-cache, no-transform', 'x-accel-buffering': 'no' };
}
