/** Finds the end of a JSON object that comes in pieces, in time linear to its characters. Checks only that it is an object. */
export class JsonEnd {
  #depth = 0;
  #isInText = false;
  #isEscaped = false;
  #isWhole = false;

  /** Whether the object has ended. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** Whether the object has begun and not ended. */
  get isCut(): boolean {
    return this.#depth > 0;
  }

  /** Takes the next piece. Returns how many of its characters belong to the object; less than all for what is none, or stands behind it. */
  push(text: string): number {
    let at = 0;
    while (at < text.length && !this.#isWhole && this.#takes(text.charCodeAt(at))) at++;
    return at;
  }

  #takes(code: number): boolean {
    if (this.#depth === 0) return this.#begins(code);
    if (this.#isEscaped) this.#isEscaped = false;
    else if (this.#isInText) {
      if (code === 0x5c) this.#isEscaped = true;
      else if (code === 0x22) this.#isInText = false;
    } else if (code === 0x22) this.#isInText = true;
    else if (code === 0x7b || code === 0x5b) this.#depth++;
    else if (code === 0x7d || code === 0x5d) this.#isWhole = --this.#depth === 0;
    return true;
  }

  /** White space or the brace before the first member. */
  #begins(code: number): boolean {
    if (code === 0x7b) this.#depth = 1;
    return code === 0x7b || code === 0x20 || (code >= 0x09 && code <= 0x0d);
  }
}
