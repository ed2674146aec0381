const parameters = ['reasoning_effort', 'max_tokens', 'temperature', 'top_p', 'stop', 'seed'];

const element = id => document.getElementById(id);

/** The models that are asked, one or two, and what is set for them. */
export class Settings {
  #fields;
  #first = document.querySelector('.slot');
  #second;
  #compare = element('compare');
  #onChange;

  constructor(fields, onChange) {
    this.#fields = fields;
    this.#onChange = onChange;
    this.#compare.addEventListener('click', () => this.#turnCompare());
    this.#compare.disabled = false;
    this.offer();
  }

  /** How many models are asked at once: 1 or 2. */
  get slots() {
    return this.#second ? 2 : 1;
  }

  /** Facts of the chosen model. */
  facts(slot = 0) {
    return JSON.parse(this.#of(slot).model.selectedOptions[0].dataset.model);
  }

  /** The parts of the request for one of the models. */
  request(slot = 0) {
    const fields = this.#of(slot);
    return {
      model: fields.model.value,
      facts: this.facts(slot),
      parameters: Object.fromEntries(parameters.map(name => [name, fields[name].value])),
    };
  }

  /** The system prompt as a message, if there is one. */
  system() {
    const content = this.#fields.system.value;
    return content.trim() === '' ? [] : [{ role: 'system', content }];
  }

  /** Shows what the chosen models take. */
  offer() {
    const all = Array.from({ length: this.slots }, (_, slot) => this.facts(slot));
    for (const [slot, facts] of all.entries()) offerParameters(this.#of(slot), facts);
  }

  #of(slot) {
    return (slot === 1 && this.#second ? this.#second : this.#first).elements;
  }

  #turnCompare() {
    this.#compare.ariaPressed = String(!this.#second);
    if (this.#second) {
      this.#second.remove();
      this.#second = undefined;
    } else this.#second = this.#copy();
    this.#first.querySelector('legend').textContent = this.#second ? 'Model A' : 'Model';
    this.#first.elements.model.ariaLabel = this.#second ? 'Model A' : 'Model';
    this.#onChange();
  }

  /** A second set of the same fields, for the model that comes next in the list. */
  #copy() {
    const copy = this.#first.cloneNode(true);
    copy.querySelector('legend').textContent = 'Model B';
    const { model } = copy.elements;
    model.ariaLabel = 'Model B';
    model.selectedIndex = (this.#first.elements.model.selectedIndex + 1) % model.options.length;
    for (const name of parameters) copy.elements[name].value = this.#first.elements[name].value;
    this.#first.after(copy);
    return copy;
  }
}

function offerParameters({ reasoning_effort, max_tokens }, facts) {
  const { levels, usual } = facts;
  const before = reasoning_effort.value;
  reasoning_effort.replaceChildren(
    new Option(usual === null ? 'not offered' : `default (${usual})`, ''),
    ...levels.map(level => new Option(level, level)),
  );
  reasoning_effort.value = levels.includes(before) ? before : '';
  reasoning_effort.disabled = levels.length === 0;
  max_tokens.max = facts.max_tokens;
  max_tokens.placeholder = `≤ ${facts.max_tokens}`;
}
