import type { ServerResponse } from 'node:http';
import { pipeline, type Writable } from 'node:stream';
import { constants, createGzip } from 'node:zlib';
import { compressed, encodingFor } from './compression.ts';
import { errorDocument } from './view/document.ts';
import type { Html } from './view/html.ts';

/** What a page answers with. */
export interface PageResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body: string | Buffer;
}

/** Allows nothing inline, from elsewhere or framed. */
const content_security_policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

const security = {
  'content-security-policy': content_security_policy,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  // Not `no-referrer`, with which browsers hide the origin of a form as well.
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
} as const;

/** Never cached: it shows what only its reader may see. */
const privateResponse = (type: string, body: string, status = 200, more: object = {}): PageResponse => ({
  status,
  headers: { 'content-type': `${type}; charset=utf-8`, 'cache-control': 'no-store', ...more },
  body,
});

/** A whole document. */
export const htmlResponse = (status: number, { text }: Html): PageResponse =>
  privateResponse('text/html', text, status);

/** Data for the scripts of a page. */
export const jsonResponse = (value: unknown): PageResponse =>
  privateResponse('application/json', JSON.stringify(value));

/** A file to be saved as `name`. */
export const fileResponse = (name: string, type: string, body: string): PageResponse =>
  privateResponse(type, body, 200, { 'content-disposition': `attachment; filename="${name}"` });

/** Leads to the page at `to` after a form; `to` is relative, as all links of pages. */
export function redirect(to: string): PageResponse {
  return { status: 303, headers: { location: to, 'cache-control': 'no-store' }, body: '' };
}

/** The page that `next` names; the start page unless it is a page beside this one. */
export const localPage = (next: string | null): string =>
  next && /^[a-z][a-z-]*(\?[!"$-[\]-~]*)?$/.test(next) ? next : '.';

/** Error for an operator's request, with the page that says it and what to do. */
export class PageError extends Error {
  override readonly name = 'PageError';
  readonly status: number;
  readonly response: PageResponse;

  constructor(status: number, message: string, advice = '', headers: PageResponse['headers'] = {}) {
    super(message);
    this.status = status;
    const page = htmlResponse(status, errorDocument(status, message, advice));
    this.response = { ...page, headers: { ...page.headers, ...headers } };
  }
}

/** Begins a file to be saved as `name` that is sent in parts. */
export const beginFile = (response: ServerResponse, name: string, type: string): void => {
  response.writeHead(200, { ...security, ...fileResponse(name, type, '').headers });
};

/** Begins a stream of events, which no proxy may buffer. */
export function beginEvents(response: ServerResponse, more: Readonly<Record<string, string>> = {}): void {
  response.writeHead(200, {
    ...security,
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store, no-transform',
    'x-accel-buffering': 'no',
    ...more,
  });
}

/** Begins a stream of events that are compressed, since they say much the same again and again, and sent at once. */
export function beginCompressedEvents(response: ServerResponse): Writable {
  if (!encodingFor(response.req, ['gzip'])) {
    beginEvents(response);
    return response;
  }
  beginEvents(response, { 'content-encoding': 'gzip' });
  const events = createGzip({ flush: constants.Z_SYNC_FLUSH });
  // Whatever ends one of them ends the other; who writes hears of it from the response.
  pipeline(events, response, () => {});
  return events;
}

/** Writes `answer` with the security headers, compressed where that is worth it; 304 for an asset that the browser has. */
export async function writeResponse(response: ServerResponse, answer: PageResponse): Promise<void> {
  const { req } = response;
  const { status, body, headers } = answer;
  if (headers.etag !== undefined && req.headers['if-none-match'] === headers.etag) {
    response.writeHead(304, { ...security, ...headers }).end();
    return;
  }
  const { encoding, bytes = body } = (await compressed(req, body)) ?? {};
  response.writeHead(status, {
    ...security,
    vary: 'accept-encoding',
    ...headers,
    ...(encoding && { 'content-encoding': encoding }),
    'content-length': Buffer.byteLength(bytes),
  });
  response.end(req.method === 'HEAD' ? '' : bytes);
}
