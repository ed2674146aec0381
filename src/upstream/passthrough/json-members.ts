import { ByteCapture } from './byte-capture.ts';
import { JsonMarks } from './json-marks.ts';

const [quote, comma, colon, backslash] = [0x22, 0x2c, 0x3a, 0x5c] as const;
const [openObject, closeObject, openArray, closeArray] = [0x7b, 0x7d, 0x5b, 0x5d] as const;

/** Bytes of a name as it is written, each character escaped at most. */
const max_name_bytes = 256;

/**
 * Reads some members of the outermost object of a JSON text that comes in parts, without holding the rest: a list of embeddings has many
 * megabytes before its usage. Takes linear time. Invalid JSON gives some values or none; values themselves are parsed.
 */
export class JsonMembers {
  readonly #names: ReadonlySet<string>;
  readonly #max_value_bytes: number;
  readonly #values = new Map<string, Buffer>();
  /** Nesting at this byte: 0 outside of the object, 1 among its members. */
  #level = 0;
  #isComplete = false;
  /** True once the text is known to be no object. */
  #isOther = false;
  #inString = false;
  #isEscaped = false;
  #awaitsName = true;
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
    if (this.#isComplete || this.#isOther) return;
    this.#capture.begins(part);
    const marks = new JsonMarks(part);
    for (let at = 0; at < part.length; at++) {
      if (this.#inString) at = this.#inside(part, at);
      else if (this.#level > 1) at = this.#nested(part, marks.next(at));
      else if (this.#level === 1) this.#member(part[at]!, at);
      else if (!this.#begins(part[at]!)) return;
    }
    this.#capture.ends();
  }

  /** Skips the rest of a string; returns the place of its end. */
  #inside(part: Buffer, from: number): number {
    const found = part.indexOf(quote, from);
    const end = found === -1 ? part.length : found;
    let at = end;
    while (at > from && part[at - 1] === backslash) at--;
    const isEscaped = (end - at + Number(at === from && this.#isEscaped)) % 2 === 1;
    this.#isEscaped = found === -1 && isEscaped;
    if (found === -1 || isEscaped) return end;
    this.#inString = false;
    if (this.#level === 1 && this.#awaitsName) this.#named(end);
    return end;
  }

  /** A byte of a value that is an object or an array. */
  #nested(part: Buffer, at: number): number {
    const byte = part[at];
    if (byte === quote) this.#inString = true;
    else if (byte === openObject || byte === openArray) this.#level++;
    else if (byte === closeObject || byte === closeArray) this.#level--;
    return at;
  }

  /** A byte of the object itself. */
  #member(byte: number, at: number): void {
    if (byte === quote) {
      this.#inString = true;
      if (this.#awaitsName) this.#capture.start(at + 1, max_name_bytes);
    } else if (byte === colon) {
      this.#awaitsName = false;
      if (this.#name !== undefined) this.#capture.start(at + 1, this.#max_value_bytes);
    } else if (byte === comma) this.#valueEnded(at);
    else if (byte === openObject || byte === openArray) this.#level++;
    else if (byte === closeObject || byte === closeArray) {
      this.#valueEnded(at);
      this.#level = 0;
      this.#isComplete = true;
    }
  }

  /** A byte outside of the object; false if no object will come or it has ended. */
  #begins(byte: number): boolean {
    if (this.#isComplete) return false;
    // Spaces, and the bytes of a byte order mark.
    if (byte <= 0x20 || byte === 0xef || byte === 0xbb || byte === 0xbf) return true;
    this.#isOther = byte !== openObject;
    this.#level = 1;
    return !this.#isOther;
  }

  #named(at: number): void {
    const name = nameOf(this.#capture.stop(at));
    this.#name = name !== undefined && this.#names.has(name) ? name : undefined;
  }

  #valueEnded(at: number): void {
    if (this.#name !== undefined && !this.#awaitsName) {
      const value = this.#capture.stop(at);
      if (value) this.#values.set(this.#name, value);
      else this.#values.delete(this.#name);
    }
    this.#name = undefined;
    this.#awaitsName = true;
  }
}

/** A name as a parser would read it, so that an escaped one is not another. */
function nameOf(bytes: Buffer | undefined): string | undefined {
  const text = bytes?.toString('utf8');
  if (!text?.includes('\\')) return text;
  try {
    return String(JSON.parse(`"${text}"`));
  } catch {
    return undefined;
  }
}
