/** Messages and parts that are kept: empty ones have no characters, and a body may have a million. */
const max_entries = 2048;

/** Room for texts of which no more than so many characters are kept altogether, in a bounded number of messages and parts. */
export class CapturedText {
  #left: number;
  #entries_left = max_entries;

  constructor(max_characters: number) {
    this.#left = max_characters;
  }

  /** True once a text was cut, or there are too many, and nothing more is kept. */
  get isFull(): boolean {
    return this.#left < 0 || this.#entries_left < 0;
  }

  /** Whether there is room for one more message or part. */
  takes(): boolean {
    this.#entries_left--;
    return !this.isFull;
  }

  /** `text`, or as much of it as there is room for, with an ellipsis. */
  cut(text: string): string {
    if (this.isFull) return '';
    const room = this.#left;
    this.#left -= text.length;
    return this.#left < 0 ? `${text.slice(0, room)}…` : text;
  }
}
