/** Finds the end of a JSON object that comes in pieces, in time linear to its characters. Does not check what it sees. */
export class JsonEnd {
  #depth = 0;
  #isInText = false;
  #isEscaped = false;
  #isWhole = false;

  /** Whether the object has ended. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  push(text: string): void {
    for (let at = 0; at < text.length && !this.#isWhole; at++) this.#next(text.charCodeAt(at));
  }

  #next(code: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (this.#isInText) {
      if (code === 0x5c) this.#isEscaped = true;
      else if (code === 0x22) this.#isInText = false;
    } else if (code === 0x22) this.#isInText = true;
    else if (code === 0x7b || code === 0x5b) this.#depth++;
    else if ((code === 0x7d || code === 0x5d) && --this.#depth <= 0) this.#isWhole = true;
  }
}
