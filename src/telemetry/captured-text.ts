/** Room for texts of which no more than so many characters are kept altogether. */
export class CapturedText {
  #left: number;

  constructor(max_characters: number) {
    this.#left = max_characters;
  }

  /** True once a text was cut, and nothing more is kept. */
  get isFull(): boolean {
    return this.#left < 0;
  }

  /** `text`, or as much of it as there is room for, with an ellipsis. */
  cut(text: string): string {
    if (this.isFull) return '';
    const room = this.#left;
    this.#left -= text.length;
    return this.isFull ? `${text.slice(0, room)}…` : text;
  }
}
