import { button, node } from './playground-nodes.js';

/** An image that was picked, as it is; of one at an address only the address, which this page does not load. */
export const pictureOf = url =>
  url.startsWith('data:') ? node('img', { src: url, alt: 'Picked image' }) : node('code', {}, url);

const element = id => document.getElementById(id);

/** The images that go with the next prompt. */
export class Images {
  #all = [];
  #place = element('images');
  #list = this.#place.querySelector('ul');
  #refuse;
  #onChange;

  /** `refuse` shows why an image cannot be sent. */
  constructor({ max_image_bytes, refuse, onChange }) {
    this.#refuse = refuse;
    this.#onChange = onChange;
    const [file, url] = [element('image-file'), element('image-url')];
    file.addEventListener('change', async () => {
      for (const picked of file.files) await this.#pick(picked, max_image_bytes);
      file.value = '';
    });
    const add = () => {
      if (url.value === '' || !this.#isAddress(url.value)) return;
      this.#add(url.value);
      url.value = '';
    };
    element('add-image').addEventListener('click', add);
    url.addEventListener('keydown', event => {
      if (event.key !== 'Enter') return;
      // It would send the prompt.
      event.preventDefault();
      add();
    });
  }

  /** Whether the model takes any; those that are there stay, and are not sent. */
  offer(isOffered) {
    this.#place.hidden = !isOffered;
  }

  /** `data:` URLs of picked files, and addresses; none while the model takes none. */
  get urls() {
    return this.#place.hidden ? [] : this.#all;
  }

  take() {
    const taken = this.urls;
    if (taken.length > 0) this.#set([]);
    return taken;
  }

  async #pick(file, max_image_bytes) {
    const limit = `${max_image_bytes / 1024 / 1024} MiB`;
    if (file.size > max_image_bytes)
      return this.#refuse(`${file.name} is larger than the ${limit} accepted of an image.`);
    const reader = new FileReader();
    await new Promise(resolve => {
      reader.addEventListener('loadend', resolve);
      reader.readAsDataURL(file);
    });
    if (!/^data:image\/(?:png|jpeg|gif|webp);base64,/.test(reader.result ?? ''))
      return this.#refuse(`${file.name} is no PNG, JPEG, GIF or WebP image.`);
    this.#add(reader.result);
  }

  #isAddress(text) {
    const isAddress = /^https:\/\//i.test(text) && URL.canParse(text);
    if (!isAddress) this.#refuse('The address of an image must begin with https://.');
    return isAddress;
  }

  #add(url) {
    this.#refuse(undefined);
    this.#set([...this.#all, url]);
  }

  #set(urls) {
    this.#all = urls;
    const row = (url, at) => {
      const remove = button('Remove', () => {
        this.#set(this.#all.filter(other => other !== url));
        element('image-file').focus();
      });
      remove.ariaLabel = `Remove image ${at + 1}`;
      return node('li', {}, pictureOf(url), remove);
    };
    this.#list.replaceChildren(...urls.map(row));
    this.#onChange();
  }
}
