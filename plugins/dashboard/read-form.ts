import type { IncomingMessage } from 'node:http';
import { BodyTooLarge, receivedBody } from '../../src/plugin.ts';
import { PageError } from './page-response.ts';

const usual_max_bytes = 32 * 1024;
const patience_ms = 10_000;
/** Forms above the usual size that may be read at the same time, such as prompts with images; each is held in memory. */
const max_large = 16;
/** Those of one sender, so that none keeps out all others. */
const max_large_of_sender = 4;
/** The senders of those that are read now. */
const large: string[] = [];
/** The slowest connection over which a large form is waited for: 64 kB/s. */
const slowest_bytes_per_ms = 64;

/** Reads the fields of a form, or takes those that the parent application has parsed. `sender` is whose large forms are counted together. Throws a PageError. */
export async function readForm(
  request: IncomingMessage & { body?: unknown },
  max_bytes = usual_max_bytes,
  sender = '',
): Promise<URLSearchParams> {
  const { body } = request;
  if (typeof body === 'object' && body !== null && !Buffer.isBuffer(body)) return fieldsOf(body);
  const [type = ''] = (request.headers['content-type'] ?? '').toLowerCase().split(';');
  if (type.trim() !== 'application/x-www-form-urlencoded')
    throw new PageError(400, 'This is not a form of the dashboard.');
  const text =
    typeof body === 'string' || Buffer.isBuffer(body) ? body : await textOf(request, max_bytes, sender);
  return new URLSearchParams(text.toString('utf8'));
}

function fieldsOf(body: object): URLSearchParams {
  const fields = new URLSearchParams();
  // Parsers collect repeated fields in a list, or, beyond some number, in an object with their places.
  for (const [name, value] of Object.entries(body))
    for (const text of typeof value === 'object' && value !== null ? Object.values(value) : [value])
      if (typeof text === 'string') fields.append(name, text);
  return fields;
}

async function textOf(request: IncomingMessage, max_bytes: number, sender: string): Promise<Buffer> {
  const bytes = Number(request.headers['content-length']);
  if (bytes > max_bytes) throw tooLarge(max_bytes);
  if (max_bytes <= usual_max_bytes || bytes <= usual_max_bytes) return received(request, max_bytes);
  const own = large.filter(name => name === sender).length;
  if (own >= max_large_of_sender) throw tooMany(`${own} large forms of yours`);
  if (large.length >= max_large) throw tooMany(`${max_large} large forms`);
  large.push(sender);
  try {
    return await received(request, max_bytes);
  } finally {
    large.splice(large.indexOf(sender), 1);
  }
}

async function received(request: IncomingMessage, max_bytes: number): Promise<Buffer> {
  try {
    return await receivedBody(request, max_bytes, patience_ms + max_bytes / slowest_bytes_per_ms);
  } catch (thrown) {
    throw thrown instanceof BodyTooLarge ? tooLarge(max_bytes) : thrown;
  }
}

const tooLarge = (max_bytes: number) =>
  new PageError(413, `The form is larger than the ${max_bytes} bytes accepted.`, '', { connection: 'close' });

const tooMany = (what: string) =>
  new PageError(503, `${what} arrive at the moment.`, 'Send it once more.', {
    connection: 'close',
    'retry-after': '1',
  });
