import type { Message } from '../canonical.ts';
import type { Exchange } from '../exchange.ts';

/** Fewest characters that count as a quotation: shorter ones are names and phrases that errors have of their own. */
const min_quote = 24;
/** Characters of the prompt that are looked at, the newest ones; and of an error's message, which has 2,000 from an upstream at most. */
const max_prompt = 65_536;
const max_message = 4096;

/** `err` without what its message quotes of the exchange's prompt, as servers do that refuse a request: for the log. */
export function withoutPrompt(exchange: Exchange, err: unknown): unknown {
  if (!(err instanceof Error)) return typeof err === 'string' ? textWithoutPrompt(exchange, err) : err;
  const message = textWithoutPrompt(exchange, err.message);
  if (message === err.message) return err;
  const copy = new Error(message, { cause: withoutPrompt(exchange, err.cause) });
  copy.stack = err.stack?.replaceAll(err.message, message) ?? message;
  return Object.assign(copy, { name: err.name });
}

/** `text` with quotations of the exchange's prompt replaced by `[prompt]`. */
export function textWithoutPrompt(exchange: Exchange, text: string): string {
  if (text.length < min_quote || !exchange.hasRequest) return text;
  return unquoted(text.slice(0, max_message), newestOf(exchange.request.messages));
}

/** Beginnings of words, where quotations begin. */
const boundary = /[^\p{L}\p{N}]/gu;

function unquoted(text: string, prompt: string): string {
  let clean = '';
  let from = 0;
  let at = 0;
  while (at + min_quote <= text.length) {
    const found = prompt.indexOf(text.slice(at, at + min_quote));
    if (found === -1) {
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
