import { button, editInPlace, node } from './playground-nodes.js';

/** A prompt of the conversation. */
export class UserTurn {
  element;
  #text;

  /** `host` is the conversation, which hears of what happens here. */
  constructor(text, host) {
    this.#text = text;
    const shown = node('div', { className: 'said text' }, text);
    const edit = () =>
      editInPlace(shown, 'Edited prompt', this.#text, edited => {
        this.#text = edited;
        shown.textContent = edited;
        host.changed();
      });
    const head = node('div', { className: 'turn-head' }, node('strong', {}, 'You'));
    const buttons = node('div', { className: 'row' });
    buttons.append(
      button('Edit', edit),
      button('Ask again', () => host.retried(this)),
      button('Delete', () => host.removed(this)),
    );
    const article = { className: 'turn user', ariaLabel: 'Prompt' };
    this.element = node('li', {}, node('article', article, head, shown, buttons));
  }

  messages() {
    return [{ role: 'user', content: this.#text }];
  }
}
