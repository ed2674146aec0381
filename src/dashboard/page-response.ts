import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Html } from './view/html.ts';

/** What a page answers with. */
export interface PageResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body: string | Buffer;
}

/** Nothing inline, nothing from elsewhere, nothing framed: what a page may do. */
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

/** A whole document. Never kept by anyone: it shows what only its reader may see. */
export function htmlResponse(status: number, { text }: Html): PageResponse {
  return {
    status,
    headers: { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' },
    body: text,
  };
}

/** For the scripts of a page. */
export function jsonResponse(value: unknown, status = 200): PageResponse {
  return {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' },
    body: JSON.stringify(value),
  };
}

/** A file to be saved as `name`. */
export function fileResponse(name: string, type: string, body: string): PageResponse {
  return {
    status: 200,
    headers: {
      'content-type': type,
      'cache-control': 'no-store',
      'content-disposition': `attachment; filename="${name}"`,
    },
    body,
  };
}

/** After a form: on to the page at `to`, as the pages write their links. */
export function redirect(to: string): PageResponse {
  return { status: 303, headers: { location: to, 'cache-control': 'no-store' }, body: '' };
}

/** A static file; asked for again only when it has changed. */
export function assetResponse(type: string, body: Buffer): PageResponse {
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
  return { status: 200, headers: { 'content-type': type, 'cache-control': 'no-cache', etag }, body };
}

/** Begins an answer of events, which the page writes as they come. Nothing on the way may hold them back. */
export function beginEvents(response: ServerResponse): void {
  response.writeHead(200, {
    ...security,
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store, no-transform',
    'x-accel-buffering': 'no',
  });
}

/** Writes `answer`, with the security headers that every answer has. */
export function writeResponse(response: ServerResponse, answer: PageResponse): void {
  const { method, headers } = response.req;
  const isKnown = answer.headers.etag !== undefined && headers['if-none-match'] === answer.headers.etag;
  const body = isKnown || method === 'HEAD' ? '' : answer.body;
  const length = isKnown ? {} : { 'content-length': Buffer.byteLength(answer.body) };
  response.writeHead(isKnown ? 304 : answer.status, { ...security, ...length, ...answer.headers });
  response.end(body);
}
