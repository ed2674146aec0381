/** Bytes of a member beside its value: its name as it is written, each character escaped at most, and spaces. */
const max_name_bytes = 256;

/** What is looked for within a nested value, and among the members themselves. All else is passed over. */
const inValue = /["[\]{}]/g;
const inObject = /["[\]{},]/g;

/** What may stand before the object: spaces, and the bytes of a byte order mark. */
const before = /^[\s\xef\xbb\xbf]*/;

/**
 * Reads some members of the outermost object of a JSON text that comes in parts, without holding the rest: a list of embeddings has many
 * megabytes before its usage. Takes linear time. Reads no further once the object has ended, or a member is seen not to be JSON; then the
 * members before that place are there.
 */
export class JsonMembers {
  readonly #names: ReadonlySet<string>;
  readonly #max_bytes: number;
  readonly #values = new Map<string, unknown>();
  /** Nesting at this place: 0 outside of the object, 1 among its members. */
  #depth = 0;
  #isInString = false;
  /** True if the part before has ended in an escape within a string. */
  #isEscaping = false;
  /** The member that is read, as far as it came and is held: without spaces before it, each byte a character. */
  #member = '';
  #isFirst = true;
  #state: 'reading' | 'complete' | 'broken' = 'reading';

  /** `names` are the members to read; values above `max_value_bytes` are not. */
  constructor(names: readonly string[], max_value_bytes: number) {
    this.#names = new Set(names);
    this.#max_bytes = max_value_bytes + max_name_bytes;
  }

  /** True once the object has ended. */
  get isComplete(): boolean {
    return this.#state === 'complete';
  }

  /** The value of a member, the last one if it is repeated; undefined if it is absent or too large. */
  get(name: string): unknown {
    return this.#values.get(name);
  }

  /** Takes the next part of the text. */
  write(part: Buffer): void {
    if (this.#state !== 'reading') return;
    const text = part.toString('latin1');
    let at = this.#depth === 0 ? this.#begin(text) : 0;
    let from = at;
    while (this.#state === 'reading') {
      at = this.#next(text, at);
      if (at === -1) return this.#hold(text.slice(from));
      const mark = text[at++]!;
      if (!this.#isEnd(mark)) continue;
      this.#hold(text.slice(from, at - 1));
      this.#ended(mark === '}');
      from = at;
    }
  }

  /** Where the members begin; at the end of what is no object, or has not begun. */
  #begin(text: string): number {
    const at = before.exec(text)![0].length;
    if (at === text.length) return at;
    if (text[at] === '{') this.#depth = 1;
    else this.#state = 'broken';
    return at + 1;
  }

  /** The next mark from `from` on; -1 if this part has none. */
  #next(text: string, from: number): number {
    if (this.#isInString) return this.#stringEnd(text, from);
    const marks = this.#depth > 1 ? inValue : inObject;
    marks.lastIndex = from;
    return this.#depth > 0 && marks.test(text) ? marks.lastIndex - 1 : -1;
  }

  /** The quote that ends the string of which `from` is a part; -1 if this part has none. */
  #stringEnd(text: string, from: number): number {
    const isEscaped = (at: number): boolean => {
      let first = at;
      while (first > from && text[first - 1] === '\\') first--;
      return (at - first + Number(first === from && this.#isEscaping)) % 2 === 1;
    };
    let end = text.indexOf('"', from);
    while (end !== -1 && isEscaped(end)) end = text.indexOf('"', end + 1);
    this.#isEscaping = end === -1 && isEscaped(text.length);
    return end;
  }

  /** Takes a mark; true if it ends a member. */
  #isEnd(mark: string): boolean {
    if (mark === '"') this.#isInString = !this.#isInString;
    else if (mark === '{' || mark === '[') this.#depth++;
    else if (mark === ',' || --this.#depth === 0) return true;
    return false;
  }

  /** Holds a piece of the member, and no more of one that is too large. */
  #hold(piece: string): void {
    if (this.#member.length <= this.#max_bytes) this.#member = (this.#member + piece).trimStart();
  }

  #ended(isLast: boolean): void {
    const text = Buffer.from(this.#member, 'latin1').toString('utf8');
    const isEmpty = isLast && this.#isFirst && text === '';
    if (this.#member.length > this.#max_bytes) this.#values.delete(nameOf(text));
    else if (!isEmpty && !this.#read(text)) this.#state = 'broken';
    if (isLast && this.#state === 'reading') this.#state = 'complete';
    this.#member = '';
    this.#isFirst = false;
  }

  /** Reads a whole member; false if it is not one. */
  #read(text: string): boolean {
    try {
      const [member] = Object.entries(JSON.parse(`{${text}}`) as object);
      if (member && this.#names.has(member[0])) this.#values.set(...member);
      return member !== undefined;
    } catch {
      return false;
    }
  }
}

/** The name of a member whose value is too large, as a parser would read it. */
function nameOf(text: string): string {
  try {
    return String(JSON.parse(/^"(?:[^"\\]|\\.)*"/.exec(text)?.[0] ?? '""'));
  } catch {
    return '';
  }
}
