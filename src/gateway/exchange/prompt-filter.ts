import type { Message } from './canonical.ts';
import type { Exchange } from './exchange.ts';

/** Fewest characters that count as a quotation: shorter ones are names and phrases that errors have of their own. */
const min_quote = 24;
/** Characters of the prompt that are looked at, the newest ones; and of an error's message, which has 2,000 from an upstream at most. */
const max_prompt = 65_536;
const max_message = 4096;

/** A mark, and what it encloses; to the end of a text that was cut. */
const inQuotationMarks = /(?<!\w)(?:"(?:\\.|[^"\\]){24,}|'(?:\\.|[^'\\]){24,}|`[^`]{24,}|“[^”]{24,})/gs;
const unmarked = (quoted: string): string => `${quoted[0]}[prompt]`;

/** Causes of a cause that are looked at, as many as a line of the log has: further ones are left out. */
const max_causes = 4;

/** `err` without what its message and its causes quote of the exchange's prompt, as servers do that refuse a request: for the log. */
export function withoutPrompt(exchange: Exchange, err: unknown): unknown {
  try {
    return filtered(exchange, err, max_causes);
  } catch {
    return new Error('an error whose properties cannot be read');
  }
}

function filtered(exchange: Exchange, err: unknown, causes: number): unknown {
  if (typeof err === 'string') return textWithoutPrompt(exchange, err);
  if (!(err instanceof Error)) return err;
  const { message: said, cause: because, stack, name } = err;
  const message = textWithoutPrompt(exchange, String(said));
  const cause = causes > 0 ? filtered(exchange, because, causes - 1) : undefined;
  if (message === String(said) && cause === because) return err;
  const copy = new Error(message, cause === undefined ? undefined : { cause });
  const trace = String(stack ?? message);
  copy.stack = message === said ? trace : trace.replaceAll(String(said), message);
  return Object.assign(copy, { name });
}

/**
 * `text` with quotations of the exchange's prompt replaced by `[prompt]`. The body of a path that is passed through is not kept: there it is
 * whatever stands in quotation marks.
 */
export function textWithoutPrompt(exchange: Exchange, text: string): string {
  if (text.length < min_quote) return text;
  if (!exchange.hasRequest)
    return exchange.endpoint.name === 'passthrough' ? text.replace(inQuotationMarks, unmarked) : text;
  return unquoted(text.slice(0, max_message), newestOf(exchange.request.messages));
}

/**
 * Where each run of `min_quote` characters of `text` stands first in `prompt`. Both are read once: to search the prompt for every word of a
 * message took a second for texts that were chosen for it.
 */
function placesOf(text: string, prompt: string): ReadonlyMap<string, number> {
  const runs = new Set<string>();
  const hashes = new Uint8Array(hash_mask + 1);
  forEachRun(text, (hash, at) => {
    hashes[hash] = 1;
    runs.add(text.slice(at, at + min_quote));
  });
  const places = new Map<string, number>();
  forEachRun(prompt, (hash, at) => {
    if (hashes[hash] === 0) return;
    const run = prompt.slice(at, at + min_quote);
    if (runs.has(run) && !places.has(run)) places.set(run, at);
  });
  return places;
}

const hash_mask = 0xffff;
const factor = 31;
/** Factor of the character that leaves the hash. */
const last_factor = Array.from({ length: min_quote }).reduce<number>(so_far => Math.imul(so_far, factor), 1);

/** Calls `visit` for each run of `min_quote` characters, with a hash that is computed from the one before. */
function forEachRun(text: string, visit: (hash: number, at: number) => void): void {
  let hash = 0;
  for (let end = 0; end < text.length; end++) {
    const at = end - min_quote;
    hash = Math.imul(hash, factor) + text.charCodeAt(end);
    if (at >= 0) hash -= Math.imul(text.charCodeAt(at), last_factor);
    if (at >= -1) visit(hash & hash_mask, at + 1);
  }
}

/** Beginnings of words, where quotations begin. */
const boundary = /[^\p{L}\p{N}]/gu;

function unquoted(text: string, prompt: string): string {
  const places = placesOf(text, prompt);
  if (places.size === 0) return text;
  let clean = '';
  let from = 0;
  let at = 0;
  while (at + min_quote <= text.length) {
    const found = places.get(text.slice(at, at + min_quote));
    if (found === undefined) {
      boundary.lastIndex = at;
      at = boundary.test(text) ? boundary.lastIndex : text.length;
      continue;
    }
    clean += `${text.slice(from, at)}[prompt]`;
    for (let end = found; at < text.length && text[at] === prompt[end]; end++) at++;
    from = at;
  }
  return clean + text.slice(from);
}

/** The texts of the newest messages, with a character between them that no message of an error has. */
function newestOf(messages: readonly Message[]): string {
  let newest = '';
  for (let at = messages.length - 1; at >= 0 && newest.length < max_prompt; at--)
    newest += `${textsOf(messages[at])
      .join('\0')
      .slice(0, max_prompt - newest.length)}\0`;
  return newest;
}

/** Every text in a message: content, parts, reasoning, arguments of calls. */
function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return value.length < min_quote ? [] : [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : [];
}
