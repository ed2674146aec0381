import { pictureOf } from './playground-images.js';
import { button, editInPlace, node } from './playground-nodes.js';

/** A prompt of the conversation with its images. */
export class UserTurn {
  element;
  #text;
  #images;

  /** `images` are URLs; `host` is the conversation, which hears of what happens here. */
  constructor(text, images, host) {
    this.#text = text;
    this.#images = images;
    const shown = node('div', { className: 'said text' }, text);
    const edit = () =>
      editInPlace(shown, 'Edited prompt', this.#text, edited => {
        this.#text = edited;
        shown.textContent = edited;
        host.changed();
      });
    const head = node('div', { className: 'turn-head' }, node('strong', {}, 'You'));
    const pictures = node('ul', { className: 'images', hidden: images.length === 0 });
    pictures.append(...images.map(url => node('li', {}, pictureOf(url))));
    const buttons = node('div', { className: 'row' });
    buttons.append(
      button('Edit', edit),
      button('Ask again', () => host.retried(this)),
      button('Delete', () => host.removed(this)),
    );
    const article = { className: 'turn user', ariaLabel: 'Prompt' };
    this.element = node('li', {}, node('article', article, head, shown, pictures, buttons));
  }

  messages() {
    if (this.#images.length === 0) return [{ role: 'user', content: this.#text }];
    const pictures = this.#images.map(url => ({ type: 'image_url', image_url: { url } }));
    const text = this.#text === '' ? [] : [{ type: 'text', text: this.#text }];
    return [{ role: 'user', content: [...text, ...pictures] }];
  }
}
