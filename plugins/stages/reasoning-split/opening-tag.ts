const open_tag = '<think>';

/**
 * Puts the opening tag before the text of one choice that starts inside reasoning, unless the text has one itself, after whitespace at most.
 * Holds back what may still become a tag. Every piece is looked at once.
 */
export class OpeningTag {
  #isDecided = false;
  #space = '';
  /** The beginning of a possible tag after that whitespace. */
  #tag = '';

  /** The text to send on for the next piece. */
  push(text: string): string {
    if (this.#isDecided) return text;
    const rest = this.#tag === '' ? text.trimStart() : this.#tag + text;
    if (this.#tag === '') this.#space += text.slice(0, text.length - rest.length);
    this.#tag = rest;
    if (rest.length < open_tag.length && open_tag.startsWith(rest)) return '';
    return rest.startsWith(open_tag) ? this.skip() : this.end();
  }

  /** What is held when the text has ended or goes on in another way. Whitespace alone is no reasoning. */
  end(): string {
    const prefix = this.#isDecided || this.#tag === '' ? '' : open_tag;
    return prefix + this.skip();
  }

  /** What is held, as it is: the text needs no tag. */
  skip(): string {
    const held = this.#space + this.#tag;
    this.#isDecided = true;
    this.#space = '';
    this.#tag = '';
    return held;
  }
}
