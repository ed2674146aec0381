import { Conversation } from './playground-conversation.js';
import { keepKey, keptKey } from './playground-key.js';
import { requestOf } from './playground-request.js';
import { Settings } from './playground-settings.js';

const form = document.querySelector('form.playground');
const { elements: fields } = form;
const options = JSON.parse(form.dataset.options);
const [send, clear, announce, refusal] = ['send', 'clear', 'announce', 'refusal'].map(id =>
  document.getElementById(id),
);

const settings = new Settings(fields, changed);
const conversation = new Conversation(options, { start, ask, changed, ended, proceed });

/** The request to one of the models with these turns. */
const requestTo = (slot, turns) =>
  requestOf({ ...settings.request(slot), messages: [...settings.system(), ...turns] });

/** Says why nothing is sent; `undefined` takes it back. */
function refuse(why) {
  refusal.hidden = why === undefined;
  refusal.textContent = why ?? '';
}

/** Sends the prompt. */
function submit() {
  if (conversation.isRunning) return;
  const text = fields.prompt.value;
  if (conversation.isUndecided)
    return refuse('Two answers stand beside each other: continue with one of them.');
  if (text.trim() === '') return refuse('Write a prompt.');
  conversation.addPrompt(text);
  fields.prompt.value = '';
  ask();
  fields.prompt.focus();
}

/** Asks for the next answer to the conversation as it is. */
function ask() {
  refuse(undefined);
  conversation.answer(settings.slots);
  changed();
}

function start(card, turns) {
  const key = fields.key?.value.trim() ?? '';
  const form_token = fields.form_token.value;
  if (key !== '') keepKey(form_token, key);
  const slot = Math.min(card.slot, settings.slots - 1);
  card.start(requestTo(slot, turns), { action: form.action, form_token, key });
  changed();
}

/** One line at the end of an answer, for those who do not see it grow. */
function ended(card) {
  const { answer, element } = card;
  const { usage, total_ms = 0 } = answer;
  const used = usage ? ` ${usage.completion_tokens} tokens in ${(total_ms / 1000).toFixed(1)} s.` : '';
  announce.textContent = `${element.ariaLabel}: ${answer.state}${used}`;
  changed();
}

/** Gives the keyboard to what is to be filled in next. */
function proceed() {
  fields.prompt.focus();
}

/** Everything that follows from the fields and the turns. */
function changed() {
  settings.offer();
  const { isRunning, isEmpty } = conversation;
  send.disabled = isRunning;
  clear.disabled = isEmpty;
}

form.addEventListener('submit', event => {
  event.preventDefault();
  submit();
});
form.addEventListener('input', changed);
fields.prompt.addEventListener('keydown', event => {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) form.requestSubmit();
});
document.addEventListener('keydown', event => {
  if (event.key === 'Escape' && !event.isComposing) conversation.stop();
});
clear.addEventListener('click', () => {
  conversation.clear();
  fields.prompt.focus();
});
// A page that is kept for the way back would go on reading.
addEventListener('pagehide', () => conversation.stop());

if (fields.key) fields.key.value ||= keptKey(fields.form_token.value) ?? '';
changed();
