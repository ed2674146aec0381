import { Answer } from './playground-answer.js';
import { recordOf, run } from './playground-events.js';
import { Figures } from './playground-figures.js';
import { button, editInPlace, node } from './playground-nodes.js';
import { RichText } from './playground-rich-text.js';

/** An answer of one model, as it comes and after that. */
export class AnswerCard {
  answer = new Answer();
  /** Which of the models answers: 0 or 1. */
  slot;
  element;
  #options;
  #host;
  #model = node('code', { className: 'model' });
  #state = node('span', { className: 'state' });
  #buttons;
  #reasoningText = node('div', { className: 'said reasoning', tabIndex: 0 });
  #reasoning = node('details', { hidden: true }, node('summary', {}, 'Reasoning'), this.#reasoningText);
  #textPlace = node('div', { className: 'said text' });
  #text = new RichText(this.#textPlace);
  #fault = node('p', { className: 'notice bad', role: 'alert', hidden: true });
  #figures;
  #request = node('p', { className: 'hint request-id' });
  #record = node('p', { className: 'hint record' });
  /** Characters that are shown of the reasoning and the text, and whether the reasoning has been folded. */
  #shown;
  #running;
  #settling;

  /** `options` are the page's; `host` is the conversation, which hears of what happens here. */
  constructor(slot, options, host) {
    this.slot = slot;
    this.#options = options;
    this.#host = host;
    this.#figures = new Figures(options.seesMoney);
    this.#buttons = {
      keep: button('Continue with this', () => host.taken(this), 'small primary'),
      stop: button('Stop', () => this.stop()),
      retry: button('Retry', () => host.retried(this)),
      edit: button('Edit', () => this.#edited()),
      remove: button('Delete', () => host.removed(this)),
    };
    this.element = node(
      'article',
      { className: 'turn answer' },
      node('div', { className: 'turn-head' }, this.#model, this.#state),
      this.#reasoning,
      this.#textPlace,
      this.#fault,
      this.#figures.element,
      node('div', { className: 'row' }, ...Object.values(this.#buttons)),
      this.#request,
      this.#record,
    );
  }

  get isRunning() {
    return this.#running !== undefined;
  }

  /** Sends `request` with the fields of `form`, and shows what comes. Resolves when nothing more does. */
  async start(request, { action, form_token, key }) {
    const sent = JSON.stringify(request);
    const answer = this.#begin(request.model);
    const fields = new URLSearchParams({ form_token, key, request: sent });
    const { length } = fields.toString();
    const { max_form_bytes } = this.#options;
    if (length > max_form_bytes)
      answer.refusedHere(413, `The request takes ${length} bytes as a form; ${max_form_bytes} are accepted.`);
    else await run({ action, fields, answer, signal: this.#running.signal, onChange: () => this.#show() });
    this.#running = undefined;
    this.#show();
    this.#text.draw();
    this.#showButtons();
    this.#host.ended(this);
    // The figures that were seen last stay where the ledger cannot be asked.
    this.#settle(answer).catch(() => {});
  }

  stop() {
    this.#running?.abort();
  }

  /** Nothing more is shown here. */
  remove() {
    this.stop();
    this.#settling?.abort();
    this.element.remove();
  }

  /** Offers to go on with this answer and not with the other one. */
  offer(isOffered) {
    this.#buttons.keep.hidden = !isOffered || this.answer.messages().length === 0;
  }

  #begin(model) {
    this.stop();
    this.#settling?.abort();
    this.answer = new Answer();
    this.#running = new AbortController();
    this.#shown = { reasoning: 0, text: 0, folded: false };
    this.#text.replace('');
    for (const place of [this.#reasoningText, this.#request, this.#record, this.#fault])
      place.replaceChildren();
    this.#model.textContent = model;
    this.element.ariaLabel = `Answer of ${model}`;
    this.#reasoning.open = true;
    this.#show();
    this.#showButtons();
    return this.answer;
  }

  #showButtons() {
    const { isRunning } = this;
    const { stop, retry, edit, keep } = this.#buttons;
    const hadKeyboard = document.activeElement === stop;
    this.element.ariaBusy = String(isRunning);
    keep.hidden = true;
    stop.hidden = !isRunning;
    retry.hidden = isRunning;
    edit.hidden = isRunning || this.answer.text === '';
    if (hadKeyboard) retry.focus();
  }

  #show() {
    const { text, reasoning, state, fault, request_id, notes } = this.answer;
    this.#state.textContent = state;
    this.#state.className = `state ${this.answer.tone}`;
    this.#reasoning.hidden = reasoning === '';
    const folds = !this.#shown.folded && text !== '';
    if (folds) this.#reasoning.open = false;
    if (text.length > this.#shown.text) this.#text.append(text.slice(this.#shown.text));
    if (reasoning.length > this.#shown.reasoning) this.#reason(reasoning.slice(this.#shown.reasoning));
    this.#shown = { reasoning: reasoning.length, text: text.length, folded: folds || this.#shown.folded };
    this.#figures.show(this.answer);
    this.#request.textContent = [request_id && `Request ${request_id}`, ...notes].filter(Boolean).join(', ');
    this.#fault.hidden = fault === undefined;
    if (fault && this.#fault.textContent === '') this.#fault.textContent = wordsOf(fault);
  }

  /** It scrolls by itself, unless the reader has scrolled up. */
  #reason(text) {
    const place = this.#reasoningText;
    const follows = place.scrollHeight - place.scrollTop - place.clientHeight < 24;
    if (place.firstChild) place.firstChild.appendData(text);
    else place.append(text);
    if (follows) place.scrollTop = place.scrollHeight;
  }

  #edited() {
    editInPlace(this.#textPlace, 'Edited answer', this.answer.text, text => {
      this.answer.text = text;
      this.#text.replace(text);
      this.#host.changed();
    });
  }

  /** Shows what is billed once the ledger has it, and leads to the record. */
  async #settle({ request_id }) {
    this.#settling = new AbortController();
    const { signal } = this.#settling;
    const record = request_id && (await recordOf(request_id, signal));
    if (!record || signal.aborted) return;
    this.#figures.settle(record);
    const by = record.provider === null ? '' : `, answered by ${record.provider}`;
    const end = record.end_reason.replaceAll('_', ' ');
    this.#record.textContent = `In the ledger: account ${record.account}${by}, ${end}. `;
    const href = `request?id=${encodeURIComponent(request_id)}`;
    this.#record.append(node('a', { href }, 'Open the record'));
  }
}

/** An error as it came: its message, and what it names beside it. */
function wordsOf({ message, type, code, param, status }) {
  const named = [status, type, code, param && `param: ${param}`].filter(Boolean).join(' · ');
  return named ? `${message} (${named})` : message;
}
