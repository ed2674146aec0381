type Json = Record<string, unknown>;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The message of an error body in any of the shapes that servers use (protocol b10), or `undefined` if it is not an error. */
export function errorInBody(body: unknown): string | undefined {
  if (!isObject(body)) return undefined;
  const { error, detail } = body;
  if (typeof error === 'string') return error;
  if (isObject(error))
    return (
      textOf(error.message) ??
      textOf(error.type) ??
      (error.message === '' ? '' : JSON.stringify(error).slice(0, 500))
    );
  if (body.object === 'error' || body.type === 'error')
    return textOf(body.message) ?? 'error without a message';
  if (detail !== undefined && !('choices' in body)) return detailText(detail);
  return undefined;
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

/** FastAPI's `detail`: a text, or one entry for each field at fault. */
function detailText(detail: unknown): string {
  if (typeof detail === 'string') return detail;
  if (!Array.isArray(detail)) return JSON.stringify(detail).slice(0, 500);
  return detail
    .filter(isObject)
    .map(
      ({ loc, msg }) =>
        `${Array.isArray(loc) ? loc.filter(part => part !== 'body').join('.') : ''}: ${String(msg)}`,
    )
    .join('; ');
}

/**
 * The message of an error body as it came, JSON or not. Markup says nothing to a client, nor does JSON that was cut off: both
 * become `undefined`.
 */
export function messageOfErrorBody(text: string): string | undefined {
  try {
    const body: unknown = JSON.parse(text);
    return (errorInBody(body) ?? (isObject(body) ? textOf(body.message) : textOf(body))) || undefined;
  } catch {
    const plain = text.trim();
    return plain === '' || /^[<{[]/.test(plain) ? undefined : plain;
  }
}

const address = /\b(?:https?|wss?|tcp|redis|postgres(?:ql)?):\/\/[^\s"'<>)]+/gi;
const secret = /\b(?:(?:bearer|api-key)\s+[^\s"',]+|(?:sk|pk|hf|gsk|xai|key)[-_][A-Za-z0-9_-]{8,})/gi;
const ipAddress =
  /\b(?:\d{1,3}\.){3}\d{1,3}\b(?::\d{2,5}\b)?|\[(?:[\da-f]*:){2,}[\da-f.]*\](?::\d{2,5}\b)?/gi;
/** A name with its port, or one that only a private network has. */
const host =
  /\b(?:localhost|[a-z0-9-]+(?:\.[a-z0-9-]+)+|[a-z0-9]+(?:-[a-z0-9]+)+):\d{2,5}\b|\b[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:internal|local|localdomain|lan|intranet|corp|svc)\b/gi;
const filePath = /(?:\/[\w.-]+){2,}\.py\b/g;
/** From its first line to the end: the exception that closes it is the server's own matter too. */
const traceback = /\s*\bTraceback \(most recent call last\)[\s\S]*/;

/**
 * An upstream's message as a client may see it: without addresses, keys, file names and tracebacks, at most 2,000 characters
 * (protocol b6).
 */
export function scrubbed(message: string): string {
  // The patterns take quadratic time on hostile text, so they see no more than may be left of it; a word cut in two is dropped.
  const beginning = message.length > 4000 ? message.slice(0, 4000).replace(/\S{1,200}$/, '') : message;
  const clean = beginning
    .replace(traceback, '')
    .replace(address, '[address]')
    .replace(secret, '[secret]')
    .replace(ipAddress, '[address]')
    .replace(host, '[address]')
    .replace(filePath, '[file]');
  return clean.length > 2000 ? `${clean.slice(0, 1999)}…` : clean;
}
