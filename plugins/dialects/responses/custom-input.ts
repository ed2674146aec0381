import { exceeds, isObject, max_arguments_size } from '../../../src/plugin.ts';

/** What stands before the text in the arguments of a custom tool. */
const opening = /^\s*\{\s*"input"\s*:\s*"/;
/** A beginning of such text, with a bounded number of spaces. */
const perhaps_opening = /^[\s{"input:]{0,64}$/;

const escaped: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };
const high_surrogate = /[\uD800-\uDBFF]$/;

/**
 * Decodes the input of a custom tool out of the arguments of its function, `{"input":"…"}`, in pieces cut anywhere. Other arguments, as
 * models write them, are kept to the end: a single text in an object is the input, and anything else is the input itself.
 */
export class CustomInput {
  /** Text that is not decoded yet: before the input all of it, within the input half an escape or character. */
  #rest = '';
  #state: 'before' | 'within' | 'other' | 'after' = 'before';

  /** Whether the input is complete. */
  get isWhole(): boolean {
    return this.#state === 'after';
  }

  /** The text that these arguments add. */
  push(text: string): string {
    if (this.#state === 'after') return '';
    this.#rest += text;
    if (this.#state === 'before') this.#begin();
    return this.#state === 'within' ? this.#decoded() : '';
  }

  /** The text that the end adds. */
  end(): string {
    const rest = this.#rest;
    const state = this.#state;
    this.#state = 'after';
    this.#rest = '';
    // Half a character, half an escape and the start of the object are not part of the input.
    if (state === 'within' || state === 'after') return '';
    return state === 'before' && rest.trimStart().startsWith('{') ? '' : otherInput(rest);
  }

  #begin(): void {
    const start = opening.exec(this.#rest)?.[0];
    if (start !== undefined) {
      this.#rest = this.#rest.slice(start.length);
      this.#state = 'within';
    } else if (!perhaps_opening.test(this.#rest)) this.#state = 'other';
  }

  #decoded(): string {
    const from = this.#rest;
    let text = '';
    let at = 0;
    while (at < from.length) {
      const stop = endOfPlain(from, at);
      text += from.slice(at, stop);
      at = stop;
      if (at === from.length) break;
      if (from[at] === '"') {
        this.#state = 'after';
        this.#rest = '';
        return text.toWellFormed();
      }
      const length = from[at + 1] === 'u' ? 6 : 2;
      if (at + length > from.length) break;
      text += unescaped(from.slice(at + 1, at + length));
      at += length;
    }
    return this.#keepHalf(text, from.slice(at));
  }

  /** Holds back the first half of a surrogate pair, which is not valid text. */
  #keepHalf(text: string, rest: string): string {
    const half = high_surrogate.exec(text)?.[0] ?? '';
    this.#rest = half + rest;
    return (half === '' ? text : text.slice(0, -1)).toWellFormed();
  }
}

function endOfPlain(text: string, from: number): number {
  let at = from;
  while (at < text.length && text[at] !== '"' && text[at] !== '\\') at++;
  return at;
}

/** The character of an escape without its backslash; an unknown escape is its character, and half a code stays as it is. */
function unescaped(given: string): string {
  const [kind = ''] = given;
  if (kind !== 'u') return Object.hasOwn(escaped, kind) ? escaped[kind]! : kind;
  const code = given.slice(1);
  return /^[0-9a-fA-F]{4}$/.test(code) ? String.fromCharCode(Number.parseInt(code, 16)) : `\\${given}`;
}

function otherInput(text: string): string {
  const plain = text.toWellFormed();
  if (exceeds(text, max_arguments_size)) return plain;
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === 'string') return parsed.toWellFormed();
    if (!isObject(parsed)) return plain;
    const values = Object.values(parsed);
    const input = parsed.input ?? (values.length === 1 ? values[0] : undefined);
    if (typeof input === 'string') return input.toWellFormed();
    return values.length === 0 ? '' : plain;
  } catch {
    return plain;
  }
}
