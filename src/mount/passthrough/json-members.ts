import { ByteCapture } from './byte-capture.ts';
import { JsonMarks } from './json-marks.ts';

const [quote, comma, colon, backslash] = [0x22, 0x2c, 0x3a, 0x5c] as const;
const [openObject, closeObject, openArray, closeArray] = [0x7b, 0x7d, 0x5b, 0x5d] as const;

/** Bytes of a name as it is written, each character escaped at most. */
const max_name_bytes = 256;

/** Bytes of a string that are looked at one by one. */
const near_bytes = 16;

/** What may come next among the members of the object. A scalar is a number or a literal. */
type Expected = 'first name' | 'name' | 'colon' | 'value' | 'rest of scalar' | 'end of value';

/**
 * Reads some members of the outermost object of a JSON text that comes in parts, without holding the rest: a list of embeddings has many
 * megabytes before its usage. Takes linear time. Reads no further once the object has ended, or is seen not to be one in JSON; then the
 * members before that place are there. Values themselves are parsed only when they are asked for.
 */
export class JsonMembers {
  readonly #names: ReadonlySet<string>;
  readonly #max_value_bytes: number;
  readonly #values = new Map<string, Buffer>();
  /** Nesting at this byte: 0 outside of the object, 1 among its members. */
  #level = 0;
  #isComplete = false;
  /** True once nothing more can be read. */
  #isOver = false;
  #inString = false;
  #isEscaped = false;
  /** True behind a string or a bracket within a value, where no other value may follow at once. */
  #isBehindValue = false;
  #expected: Expected = 'first name';
  /** The member whose value is read; undefined between members, and for those that are not wanted. */
  #name: string | undefined;
  readonly #capture = new ByteCapture();

  /** `names` are the members to read; values above `max_value_bytes` are not. */
  constructor(names: readonly string[], max_value_bytes: number) {
    this.#names = new Set(names);
    this.#max_value_bytes = max_value_bytes;
  }

  /** True once the object has ended. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** The value of a member, the last one if it is repeated; undefined if it is absent, too large or not JSON. */
  get(name: string): unknown {
    try {
      return JSON.parse(this.#values.get(name)?.toString('utf8') ?? '');
    } catch {
      return undefined;
    }
  }

  /** Takes the next part of the text. */
  write(part: Buffer): void {
    if (this.#isOver) return;
    this.#capture.begins(part);
    const marks = new JsonMarks(part);
    for (let at = 0; at < part.length && !this.#isOver; at++) {
      if (this.#inString) at = this.#inside(part, at);
      else if (this.#level > 1) at = this.#nested(marks, at);
      else if (this.#level === 1) this.#member(part[at]!, at);
      else this.#begins(part[at]!, at);
    }
    this.#capture.ends();
  }

  /** Skips the rest of a string; returns the place of its end. */
  #inside(part: Buffer, from: number): number {
    const found = quoteIn(part, from);
    const end = found === -1 ? part.length : found;
    let at = end;
    while (at > from && part[at - 1] === backslash) at--;
    const isEscaped = (end - at + Number(at === from && this.#isEscaped)) % 2 === 1;
    this.#isEscaped = found === -1 && isEscaped;
    if (found === -1 || isEscaped) return end;
    this.#inString = false;
    this.#isBehindValue = this.#level > 1;
    if (this.#level === 1 && this.#expected !== 'end of value') this.#named(end);
    return end;
  }

  /** Skips to the next quote or bracket of a value that is an object or an array; returns its place. */
  #nested(marks: JsonMarks, from: number): number {
    const { part } = marks;
    if (this.#isBehindValue) {
      const byte = part[from]!;
      if (byte > 0x20 && !mayFollowValue(byte)) this.#broke(from);
      if (byte <= 0x20 || this.#isOver) return from;
      this.#isBehindValue = false;
    }
    const at = marks.next(from);
    const byte = part[at];
    if (byte === quote) this.#inString = true;
    else if (byte === openObject || byte === openArray) this.#level++;
    else if (byte === closeObject || byte === closeArray) this.#isBehindValue = --this.#level > 1;
    return at;
  }

  /** A byte of the object itself. */
  #member(byte: number, at: number): void {
    const isSpace = byte <= 0x20;
    switch (this.#expected) {
      case 'rest of scalar':
        if (isScalar(byte)) return;
        this.#expected = 'end of value';
        return isSpace ? undefined : this.#valueEnded(byte, at);
      case 'end of value':
        return isSpace ? undefined : this.#valueEnded(byte, at);
      case 'value':
        return isSpace ? undefined : this.#valueBegun(byte, at);
      case 'colon':
        if (isSpace) return;
        if (byte !== colon) return this.#broke(at);
        this.#expected = 'value';
        if (this.#name !== undefined) this.#capture.start(at + 1, this.#max_value_bytes);
        return;
      default:
        return isSpace ? undefined : this.#nameBegun(byte, at);
    }
  }

  /** A byte outside of the object. */
  #begins(byte: number, at: number): void {
    // Spaces, and the bytes of a byte order mark.
    if (byte <= 0x20 || byte === 0xef || byte === 0xbb || byte === 0xbf) return;
    if (byte === openObject) this.#level = 1;
    else this.#broke(at);
  }

  #nameBegun(byte: number, at: number): void {
    if (byte === closeObject && this.#expected === 'first name') return this.#completed();
    if (byte !== quote) return this.#broke(at);
    this.#inString = true;
    this.#capture.start(at + 1, max_name_bytes);
  }

  #named(at: number): void {
    const name = nameOf(this.#capture.stopText(at));
    this.#name = name !== undefined && this.#names.has(name) ? name : undefined;
    this.#expected = 'colon';
  }

  #valueBegun(byte: number, at: number): void {
    this.#expected = 'end of value';
    if (byte === quote) this.#inString = true;
    else if (byte === openObject || byte === openArray) this.#level++;
    else if (isScalar(byte)) this.#expected = 'rest of scalar';
    else this.#broke(at);
  }

  /** The byte behind a value. */
  #valueEnded(byte: number, at: number): void {
    if (byte !== comma && byte !== closeObject) return this.#broke(at);
    if (this.#name !== undefined) {
      const value = this.#capture.stop(at);
      if (value) this.#values.set(this.#name, value);
      else this.#values.delete(this.#name);
    }
    this.#name = undefined;
    this.#expected = 'name';
    if (byte === closeObject) this.#completed();
  }

  #completed(): void {
    this.#level = 0;
    this.#isComplete = true;
    this.#isOver = true;
  }

  /** Ends the reading at a byte that no JSON object can have there. */
  #broke(at: number): void {
    this.#capture.stop(at);
    this.#isOver = true;
  }
}

/** The next quote from `from` on, or -1. Many strings are short, and a search costs as much as a look at some dozen bytes. */
function quoteIn(part: Buffer, from: number): number {
  const near = Math.min(from + near_bytes, part.length);
  for (let at = from; at < near; at++) if (part[at] === quote) return at;
  return near === part.length ? -1 : part.indexOf(quote, near);
}

const mayFollowValue = (byte: number): boolean =>
  byte === comma || byte === colon || byte === closeObject || byte === closeArray;

/** Whether a byte can be part of a number or a literal: `+-.`, digits, letters. */
const isScalar = (byte: number): boolean =>
  (byte >= 0x30 && byte <= 0x39) ||
  byte === 0x2b ||
  byte === 0x2d ||
  byte === 0x2e ||
  ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a);

/** A name as a parser would read it, so that an escaped one is not another. */
function nameOf(text: string | undefined): string | undefined {
  if (!text?.includes('\\')) return text;
  try {
    return String(JSON.parse(`"${text}"`));
  } catch {
    return undefined;
  }
}
