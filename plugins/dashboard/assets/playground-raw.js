import { button, node } from './playground-nodes.js';

/** The request as it was sent and the events as they came, in place of what is rendered while its button is pressed. */
export class RawView {
  element = node('pre', { className: 'raw', tabIndex: 0, hidden: true });
  button;
  #lines = [];
  #shown = 0;

  constructor(rendered) {
    this.button = button('Raw', () => {
      const isRaw = this.element.hidden;
      this.button.ariaPressed = String(isRaw);
      this.element.hidden = !isRaw;
      rendered.hidden = isRaw;
      this.show(this.#lines);
    });
    this.button.ariaPressed = 'false';
  }

  begin(sent) {
    this.element.textContent = `POST /v1/chat/completions\n\n${sent}\n`;
    this.#shown = 0;
    this.#lines = [];
  }

  /** Shows the lines that have come since, if they can be seen. */
  show(lines) {
    this.#lines = lines;
    if (this.element.hidden) return;
    const more = lines.slice(this.#shown);
    this.#shown = lines.length;
    if (more.length > 0) this.element.append(`\n${more.join('\n')}`);
  }
}
