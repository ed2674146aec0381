import type { IncomingMessage } from 'node:http';
import { decompressorFor } from '../../common/decompressors.ts';
import { refusal } from '../../gateway/exchange/errors.ts';
import { type BodyLimits, tooLarge } from '../../gateway/inbound/body-limits.ts';
import { invalidCompression, unacceptedEncoding } from '../../gateway/inbound/decompress.ts';
import { checkContentType, malformed, parseBody } from '../../gateway/inbound/read-body.ts';
import { UploadAborted } from '../../gateway/inbound/upload.ts';

/** An error of body-parser, which Express 4 and 5 bring along, and of raw-body; other fields are those of `http-errors`. */
interface ParserError extends Error {
  readonly type?: string;
  /** The text that is no JSON. */
  readonly body?: unknown;
  /** The limit in bytes that was exceeded. */
  readonly limit?: unknown;
  /** Of zlib. */
  readonly errno?: unknown;
  readonly status?: unknown;
}

interface Request {
  readonly encoding: string;
  readonly limits: BodyLimits;
}

/** What a fault means for the client, by its `type`. What is left out, such as `entity.verify.failed`, is the application's own decision. */
const faults: Readonly<Record<string, (error: ParserError, request: Request) => Error>> = {
  'entity.parse.failed': unparsable,
  'entity.too.large': ({ limit }, { limits }) =>
    tooLarge(typeof limit === 'number' ? limit : limits.max_body_bytes),
  'encoding.unsupported': (_, { encoding }) => unacceptedEncoding(encoding),
  'charset.unsupported': error => malformed('Content-Type: the charset must be utf-8.', error),
  'parameters.too.many': error => malformed('The request body must be a JSON object.', error),
  'querystring.parse.range.error': error => malformed('The request body must be a JSON object.', error),
  'request.size.invalid': error =>
    malformed('The request body is not as long as Content-Length says.', error),
  'request.aborted': () => new UploadAborted(),
  'stream.encoding.set': brokenByApplication,
  'stream.not.readable': brokenByApplication,
};

/**
 * The error of a request whose body the application's parser could not read: the one with which `readBody` would have ended. Undefined where
 * `thrown` is no error of a body parser. `isJson` is false where the gateway accepts any type of content.
 */
export function parserFault(
  thrown: unknown,
  { headers }: IncomingMessage,
  limits: BodyLimits,
  isJson: boolean,
): Error | undefined {
  if (!(thrown instanceof Error)) return undefined;
  const error: ParserError = thrown;
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? '';
  const isZlib = error.status === 400 && typeof error.errno === 'number' && decompressorFor(encoding);
  const fault = isZlib
    ? invalidCompression(encoding, error)
    : Object.hasOwn(faults, error.type ?? '') && faults[error.type!]!(error, { encoding, limits });
  if (!fault) return undefined;
  if (!isJson || fault instanceof UploadAborted) return fault;
  return faultOf(() => checkContentType(headers['content-type'])) ?? fault;
}

function unparsable(error: ParserError, { limits }: Request): Error {
  const { body } = error;
  const own = typeof body === 'string' ? faultOf(() => parseBody(Buffer.from(body), limits)) : undefined;
  // A parser of the application's may refuse what would be accepted here.
  return own ?? malformed('The request body is not valid JSON.', error);
}

function brokenByApplication(cause: ParserError): Error {
  return refusal('server_error', { cause });
}

function faultOf(check: () => unknown): Error | undefined {
  try {
    check();
    return undefined;
  } catch (thrown) {
    return thrown as Error;
  }
}
