import { PlainTextMapper, type TextMapper, type TextReplacer } from './text-replacer.ts';

const structure = /[\s{}[\],:"]/;

/**
 * Maps the arguments of a tool call, which stay JSON: matches are looked for in each string, as it reads without its escapes, and in each
 * number, which becomes a string if it has one. Arguments that are no JSON object or array are mapped as plain text.
 */
export class ArgumentsMapper implements TextMapper {
  readonly #replacer: TextReplacer;
  readonly #window: number;
  #place: 'start' | 'outside' | 'string' | 'bare' | 'plain' = 'start';
  /** An escape that is not complete. */
  #escape = '';
  /** Held text of a string or number, as it reads; `#raw` has each of its units as it is written. */
  #text = '';
  #raw: string[] = [];
  #before: number | undefined;
  readonly #plain: PlainTextMapper;

  constructor(replacer: TextReplacer, window: number) {
    this.#replacer = replacer;
    this.#window = window;
    this.#plain = new PlainTextMapper(replacer);
  }

  get isHolding(): boolean {
    return this.#text !== '' || this.#escape !== '' || this.#plain.isHolding;
  }

  push(piece: string): string {
    let mapped = '';
    for (let at = 0; at < piece.length; at++) {
      if (this.#place === 'plain') return mapped + this.#plain.push(piece.slice(at));
      mapped += this.#unit(piece[at]!);
    }
    return this.#place === 'string' ? mapped + this.#letGo(false) : mapped;
  }

  end(): string {
    const rest = this.#place === 'bare' ? this.#endBare() : this.#letGo(true);
    const unfinished = this.#escape;
    this.#escape = '';
    return rest + unfinished + this.#plain.end();
  }

  #unit(unit: string): string {
    switch (this.#place) {
      case 'start':
        if (/\s/.test(unit)) return unit;
        this.#place = '{['.includes(unit) ? 'outside' : 'plain';
        return this.#place === 'plain' ? this.#plain.push(unit) : unit;
      case 'string':
        return this.#inString(unit);
      case 'bare':
        if (!structure.test(unit)) return this.#inBare(unit);
        return this.#endBare() + this.#outside(unit);
      default:
        return this.#outside(unit);
    }
  }

  #outside(unit: string): string {
    this.#place = unit === '"' ? 'string' : structure.test(unit) ? 'outside' : 'bare';
    this.#before = undefined;
    return this.#place === 'bare' ? this.#inBare(unit) : unit;
  }

  #inString(unit: string): string {
    if (this.#escape !== '') this.#inEscape(unit);
    else if (unit === '\\') this.#escape = unit;
    else if (unit === '"') {
      const text = this.#letGo(true);
      this.#place = 'outside';
      return text + unit;
    } else this.#take(unit, unit);
    return '';
  }

  #inEscape(unit: string): void {
    const raw = this.#escape + unit;
    const isComplete = raw[1] !== 'u' || raw.length === 6;
    this.#escape = isComplete ? '' : raw;
    if (isComplete) this.#take(readEscape(raw), raw);
  }

  /** Numbers are short; more than the window holds is no JSON. */
  #inBare(unit: string): string {
    this.#take(unit, unit);
    if (this.#raw.length <= this.#window) return '';
    const text = this.#text;
    this.#forget(this.#raw.length);
    this.#place = 'plain';
    return this.#plain.push(text);
  }

  #endBare(): string {
    const text = this.#text;
    const mapped = this.#letGo(true);
    return mapped === text ? text : `"${mapped}"`;
  }

  #take(unit: string, raw: string): void {
    this.#text += unit;
    this.#raw.push(raw);
  }

  #forget(count: number): void {
    this.#text = this.#text.slice(count);
    this.#raw = this.#raw.slice(count);
  }

  /** Releases what is certain, each unit as it was written, with the matches replaced. */
  #letGo(isEnd: boolean): string {
    if (this.#text === '') return '';
    const { spans, until } = this.#replacer.scan(this.#text, this.#before, isEnd);
    let mapped = '';
    let from = 0;
    for (const { start, end, text } of spans) {
      mapped += this.#raw.slice(from, start).join('') + JSON.stringify(text).slice(1, -1);
      from = end;
    }
    mapped += this.#raw.slice(from, until).join('');
    if (until > 0) this.#before = this.#text.charCodeAt(until - 1);
    this.#forget(until);
    return mapped;
  }
}

const escapes: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

/** The unit that an escape stands for. */
function readEscape(raw: string): string {
  const letter = raw[1]!;
  if (letter !== 'u') return escapes[letter] ?? letter;
  const code = Number.parseInt(raw.slice(2), 16);
  return Number.isNaN(code) ? '\ufffd' : String.fromCharCode(code);
}
