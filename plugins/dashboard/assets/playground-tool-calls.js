import { node } from './playground-nodes.js';

/** The calls of an answer, each with a field for the result that is sent back. `onChange` is called for every change of one. */
export class ToolCalls {
  element = node('ul', { className: 'calls', ariaLabel: 'Tool calls', hidden: true });
  #rows = [];
  #onChange;

  constructor(onChange) {
    this.#onChange = onChange;
  }

  show(calls) {
    this.element.hidden = calls.length === 0;
    for (const [at, call] of calls.entries()) {
      this.#rows[at] ??= this.#row(call);
      const { name, title, args } = this.#rows[at];
      name.textContent = call.name;
      title.textContent = `Result of ${call.name}`;
      const text = isWhole(call.args) ? JSON.stringify(JSON.parse(call.args), undefined, 2) : call.args;
      if (args.textContent !== text) args.textContent = text;
    }
  }

  /** Gives the first result the keyboard; false if there is none. */
  focus() {
    const first = this.element.querySelector('textarea');
    first?.focus();
    return first !== null;
  }

  clear() {
    this.element.replaceChildren();
    this.element.hidden = true;
    this.#rows = [];
  }

  #row(call) {
    const name = node('code');
    const args = node('pre', { tabIndex: 0 });
    const result = node('textarea', { className: 'wide mono', rows: 2, value: call.result });
    result.placeholder = 'What the tool returns, such as {"celsius": 12}';
    result.addEventListener('input', () => {
      call.result = result.value;
      this.#onChange();
    });
    const title = node('span');
    const label = node('label', {}, title, result);
    this.element.append(node('li', { className: 'stack' }, node('div', {}, 'Calls ', name), args, label));
    return { name, title, args };
  }
}

function isWhole(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
