/** Bytes from one place of a text to another, which may lie in different parts. Copied, since parts are views of large blocks. */
export class ByteCapture {
  #part: Buffer | undefined;
  #from: number | undefined;
  #kept: Buffer[] = [];
  #left_bytes = 0;

  begins(part: Buffer): void {
    this.#part = part;
    if (this.#from !== undefined) this.#from = 0;
  }

  ends(): void {
    if (this.#from !== undefined) this.#keep(this.#part!.length);
    this.#part = undefined;
  }

  start(at: number, max_bytes: number): void {
    this.#from = at;
    this.#kept = [];
    this.#left_bytes = max_bytes;
  }

  /** The bytes up to `at` as text, which is not held on to; undefined if there are too many. Mostly without a copy. */
  stopText(at: number): string | undefined {
    const from = this.#from;
    if (from === undefined || this.#kept.length > 0) return this.stop(at)?.toString('utf8');
    this.#from = undefined;
    return at - from > this.#left_bytes ? undefined : this.#part!.toString('utf8', from, at);
  }

  /** The bytes up to `at`; undefined if there are too many. */
  stop(at: number): Buffer | undefined {
    if (this.#from === undefined) return undefined;
    this.#keep(at);
    this.#from = undefined;
    return this.#left_bytes < 0 ? undefined : Buffer.concat(this.#kept);
  }

  #keep(to: number): void {
    const from = this.#from!;
    this.#left_bytes -= to - from;
    if (this.#left_bytes >= 0) this.#kept.push(Buffer.from(this.#part!.subarray(from, to)));
    else this.#kept = [];
  }
}
