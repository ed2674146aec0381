import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { isObject } from '../../common/json-object.ts';
import type { JsonSize } from '../../common/json-size.ts';
import { type GatewayError, refusal } from '../exchange/errors.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { type BodyLimits, tooLarge } from './body-limits.ts';
import { isAsciiJson, structureMemory, textMemory } from './body-memory.ts';
import type { BufferedBody } from './buffered-bytes.ts';
import { decompressed } from './decompress.ts';
import { type BodySize, checkBody, checkText, isShallow } from './json-bounds.ts';
import { bytesOf, receivedBytes } from './upload.ts';

export const malformed = (message: string, cause?: unknown): GatewayError =>
  refusal('invalid_request', { message, cause });

/**
 * Reads the client's JSON object. Takes a body that the parent application has parsed as it is, if within `limits`;
 * otherwise reads the bytes, within `limits` and until the exchange aborts, decompresses and parses them. A promise only if it has to wait.
 */
export function readBody(
  request: IncomingMessage & { body?: unknown },
  limits: BodyLimits,
  exchange: Exchange,
  buffered: BufferedBody,
): Record<string, unknown> | Promise<Record<string, unknown>> {
  const parsed = request.body;
  // Applies to a parsed body too: a form that the parent has read into an object is still not JSON.
  checkContentType(request.headers['content-type']);
  if (typeof parsed === 'object' && parsed !== null && !Buffer.isBuffer(parsed)) {
    const body = objectOf(parsed);
    buffered.hold(parsedMemory(request, checkBody(body, limits)));
    return body;
  }
  // Read but not parsed by the parent application.
  if (Buffer.isBuffer(parsed)) return parseBody(parsed, limits, buffered);
  if (typeof parsed === 'string') return parseBody(Buffer.from(parsed), limits, buffered);
  const encoding = request.headers['content-encoding'];
  const received = receivedBytes(request, limits, exchange, buffered);
  if (received && encoding === undefined) return parseBody(received, limits, buffered);
  return readLater(received ?? bytesOf(request, limits, exchange, buffered), encoding, limits, buffered);
}

async function readLater(
  received: Buffer | Promise<Buffer>,
  encoding: string | undefined,
  limits: BodyLimits,
  buffered: BufferedBody,
): Promise<Record<string, unknown>> {
  const bytes = await received;
  const plain = encoding === undefined ? bytes : await decompressed(bytes, encoding, limits, buffered);
  return parseBody(plain, limits, buffered);
}

/** The JSON object in `bytes`, if within `limits`. What is held of it from then on is counted in `buffered`. */
export function parseBody(
  bytes: Buffer,
  limits: BodyLimits,
  buffered?: BufferedBody,
): Record<string, unknown> {
  if (bytes.length > limits.max_body_bytes) throw tooLarge(limits.max_body_bytes);
  const counted = checkText(bytes, limits);
  const text = textOf(bytes);
  const text_bytes = textMemory(text.length, isAsciiJson(text, bytes.length));
  // The copy that will be sent upstream is about as long as what has come.
  const hold = (size: JsonSize) =>
    buffered?.hold(bytes.length + text_bytes + structureMemory(size), bytes.length);
  if (counted) hold(counted);
  const body = objectOf(parseJson(text));
  const size = counted && isShallow(counted) ? counted : checkBody(body, limits);
  hold(size);
  return body;
}

/** Memory of a body that the parent application has parsed and keeps: its texts, its tree twice, and the copy for the upstream. */
function parsedMemory({ headers }: IncomingMessage, size: BodySize): number {
  const isPlain = (headers['content-encoding'] ?? 'identity') === 'identity';
  const sent_bytes = Number(isPlain ? headers['content-length'] : undefined) || 3 * size.characters;
  return sent_bytes + textMemory(size.characters, false) + 2 * structureMemory(size);
}

/** Refuses a `Content-Type` that is not JSON in UTF-8; none, or an empty one, is accepted. */
export function checkContentType(header: string | undefined): void {
  if (header === undefined || header === 'application/json' || header.trim() === '') return;
  const [type = '', ...parameters] = header.toLowerCase().split(';');
  if (!/^\s*application\/([\w.-]+\+)?json\s*$/.test(type)) {
    throw malformed(`Content-Type: must be application/json, not '${type.trim().slice(0, 64)}'.`);
  }
  const charset = parameters.map(text => /^\s*charset\s*=\s*"?([^"\s]+)"?\s*$/.exec(text)?.[1]).find(Boolean);
  if (charset !== undefined && charset !== 'utf-8' && charset !== 'utf8') {
    throw malformed(`Content-Type: the charset must be utf-8, not '${charset.slice(0, 64)}'.`);
  }
}

function textOf(bytes: Buffer): string {
  if (bytes.length === 0) throw malformed('The request body is empty; send a JSON object.');
  if (!isUtf8(bytes)) throw malformed('The request body is not valid UTF-8.');
  const marked = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  return bytes.toString('utf8', marked ? 3 : 0);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const at = /position \d+(?: \(line \d+ column \d+\))?/.exec((cause as Error).message)?.[0];
    throw malformed(`The request body is not valid JSON${at ? `: error at ${at}` : ''}.`, cause);
  }
}

function objectOf(value: unknown): Record<string, unknown> {
  if (isObject(value)) return value;
  throw malformed('The request body must be a JSON object.');
}
