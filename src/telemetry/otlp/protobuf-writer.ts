/** The wire types of protobuf that OTLP uses. */
const [varint_type, fixed64_type, length_delimited, fixed32_type] = [0, 1, 2, 5] as const;
const two_32 = 2 ** 32;

/**
 * Writes protobuf into one buffer, which grows as needed and is used again: a field is written where it will stay, a message that holds
 * others is opened and closed.
 */
export class ProtobufWriter {
  #bytes = Buffer.allocUnsafe(4096);
  #at = 0;

  /** Bytes written since the last `take`. */
  get length(): number {
    return this.#at;
  }

  /** A copy of what was written; the next message begins anew. */
  take(): Buffer {
    const taken = Buffer.from(this.#bytes.subarray(0, this.#at));
    this.#at = 0;
    return taken;
  }

  /** Opens a message as field `field`; returns what `close` wants to know. */
  open(field: number): number {
    this.#begin(field, length_delimited, 1);
    return this.#at++;
  }

  close(opened: number): void {
    const length = this.#at - opened - 1;
    if (length < 0x80) {
      this.#bytes[opened] = length;
      return;
    }
    const more = sizeOf(length) - 1;
    this.#room(more);
    this.#bytes.copyWithin(opened + 1 + more, opened + 1, this.#at);
    const end = this.#at + more;
    this.#at = opened;
    this.#varint(length);
    this.#at = end;
  }

  /** Begins a message whose `length` bytes follow from elsewhere. */
  announce(field: number, length: number): void {
    this.#begin(field, length_delimited, 5);
    this.#varint(length);
  }

  /** An int64, uint32, enum or bool. */
  integer(field: number, value: number): void {
    this.#begin(field, varint_type, 10);
    this.#varint(value);
  }

  double(field: number, value: number): void {
    this.#begin(field, fixed64_type, 8);
    this.#at = this.#bytes.writeDoubleLE(value, this.#at);
  }

  fixed32(field: number, value: number): void {
    this.#begin(field, fixed32_type, 4);
    this.#fixed32(value);
  }

  /** Nanoseconds since 1970, which no number holds exactly, as a fixed64. */
  nanoseconds(field: number, seconds: number, nanoseconds: number): void {
    this.#begin(field, fixed64_type, 8);
    const upper = Math.floor(seconds / 0x10000) * 1e9;
    const lower = (upper % 0x10000) * 0x10000 + (seconds % 0x10000) * 1e9 + nanoseconds;
    this.#fixed32(lower % two_32);
    this.#fixed32(Math.floor(upper / 0x10000) + Math.floor(lower / two_32));
  }

  text(field: number, text: string): void {
    this.#begin(field, length_delimited, 5 + text.length * 3);
    if (text.length < 0x80 && this.#ascii(text)) return;
    this.#varint(Buffer.byteLength(text));
    this.#at += this.#bytes.write(text, this.#at);
  }

  /** Bytes that are given in hexadecimal digits. */
  hex(field: number, digits: string): void {
    this.#begin(field, length_delimited, 5 + digits.length);
    this.#varint(digits.length / 2);
    const bytes = this.#bytes;
    for (let digit = 0; digit < digits.length; digit += 2)
      bytes[this.#at++] = (nibbleOf(digits.charCodeAt(digit)) << 4) | nibbleOf(digits.charCodeAt(digit + 1));
  }

  /** Eight random bytes that are not all zero. */
  randomId(field: number): void {
    this.#begin(field, length_delimited, 9);
    this.#varint(8);
    this.#fixed32(Math.floor(Math.random() * two_32));
    this.#fixed32(1 + Math.floor(Math.random() * (two_32 - 1)));
  }

  bytes(field: number, bytes: Uint8Array): void {
    this.#begin(field, length_delimited, 5 + bytes.length);
    this.#varint(bytes.length);
    this.#bytes.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  /** Short and ASCII, as nearly all texts of a span are: cheaper byte by byte than by a call out of JavaScript. */
  #ascii(text: string): boolean {
    const bytes = this.#bytes;
    const { length } = text;
    const from = this.#at + 1;
    for (let at = 0; at < length; at++) {
      const code = text.charCodeAt(at);
      if (code >= 0x80) return false;
      bytes[from + at] = code;
    }
    bytes[from - 1] = length;
    this.#at = from + length;
    return true;
  }

  #begin(field: number, wire_type: number, size: number): void {
    this.#room(size + 2);
    this.#varint((field << 3) | wire_type);
  }

  #varint(value: number): void {
    if (value < 0 || value > Number.MAX_SAFE_INTEGER) return this.#bigVarint(value);
    let rest = value;
    for (; rest > 0x7f_ff_ff_ff; rest = Math.floor(rest / 0x80))
      this.#bytes[this.#at++] = (rest % 0x80) | 0x80;
    for (; rest > 0x7f; rest >>>= 7) this.#bytes[this.#at++] = (rest & 0x7f) | 0x80;
    this.#bytes[this.#at++] = rest;
  }

  #bigVarint(value: number): void {
    let rest = BigInt.asUintN(64, BigInt(value));
    for (; rest > 0x7fn; rest >>= 7n) this.#bytes[this.#at++] = Number(rest & 0x7fn) | 0x80;
    this.#bytes[this.#at++] = Number(rest);
  }

  #fixed32(value: number): void {
    this.#bytes[this.#at++] = value;
    this.#bytes[this.#at++] = value >>> 8;
    this.#bytes[this.#at++] = value >>> 16;
    this.#bytes[this.#at++] = value >>> 24;
  }

  #room(size: number): void {
    const needed = this.#at + size;
    if (needed <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(needed, this.#bytes.length * 2));
    grown.set(this.#bytes.subarray(0, this.#at));
    this.#bytes = grown;
  }
}

/** Bytes of a length as a varint. */
function sizeOf(length: number): number {
  let size = 1;
  for (let rest = length; rest > 0x7f; rest >>>= 7) size++;
  return size;
}

/** Of a hexadecimal digit by its code, without a branch that nobody could predict. */
const nibbleOf = (code: number): number => (code & 0xf) + 9 * (code >> 6);
