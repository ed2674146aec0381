import { codePanel } from './playground-code-panel.js';
import { Conversation } from './playground-conversation.js';
import { Images } from './playground-images.js';
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
const images = new Images({ max_image_bytes: options.max_image_bytes, refuse, onChange: changed });
const conversation = new Conversation(options, { start, ask, changed, ended, proceed });
const writeCode = codePanel(() => requestTo(0, messagesWithDraft()));

/** The request to one of the models with these turns. */
function requestTo(slot, turns) {
  const messages = [...settings.system(), ...turns];
  const takesImages = settings.facts(slot).images;
  return requestOf({
    ...settings.request(slot),
    messages: takesImages ? messages : messages.map(withoutImages),
  });
}

/** What the model is not sent of these turns, in words. */
function leftOut(slot, turns) {
  const facts = settings.facts(slot);
  const hasImages = turns.some(({ content }) => Array.isArray(content));
  return [
    !facts.images && hasImages && 'without the images, which this model does not take',
    !facts.tools && settings.tools()?.length > 0 && 'without the tools, which this model does not take',
  ].filter(Boolean);
}

/** The turns may have been written for another model. */
function withoutImages(message) {
  if (!Array.isArray(message.content)) return message;
  const texts = message.content.filter(({ type }) => type === 'text');
  return { ...message, content: texts.map(({ text }) => text).join('\n') };
}

/** The conversation with the prompt that is being written, as it would be sent. */
function messagesWithDraft() {
  const turns = conversation.messages();
  const text = fields.prompt.value;
  const pictures = images.urls.map(url => ({ type: 'image_url', image_url: { url } }));
  if (pictures.length > 0)
    return [...turns, { role: 'user', content: [{ type: 'text', text }, ...pictures] }];
  return text === '' && turns.length > 0 ? turns : [...turns, { role: 'user', content: text }];
}

/** Says why nothing is sent; `undefined` takes it back. */
function refuse(why) {
  refusal.hidden = why === undefined;
  refusal.textContent = why ?? '';
}

/** Sends the prompt, or the results of tools where there is no prompt. */
function submit() {
  if (conversation.isRunning) return;
  const text = fields.prompt.value;
  if (settings.tools() === undefined) return refuse('The tools are no list in JSON.');
  if (conversation.isUndecided)
    return refuse('Two answers stand beside each other: continue with one of them.');
  if (text.trim() === '' && images.urls.length === 0 && !conversation.hasResults)
    return refuse('Write a prompt.');
  if (text.trim() !== '' || images.urls.length > 0) conversation.addPrompt(text, images.take());
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
  const notes = leftOut(slot, turns);
  card.start(requestTo(slot, turns), { action: form.action, form_token, key, notes });
  changed();
}

/** One line at the end of an answer, for those who do not see it grow. */
function ended(card) {
  const { answer, element } = card;
  const { usage, total_ms = 0 } = answer;
  const used = usage ? ` ${usage.completion_tokens} tokens in ${(total_ms / 1000).toFixed(1)} s.` : '';
  announce.textContent = `${element.ariaLabel}: ${answer.state}${used}`;
  changed();
  if (document.activeElement === fields.prompt && fields.prompt.value === '') proceed(card);
}

/** Gives the keyboard to what is to be filled in next. */
function proceed(card) {
  if (!card?.focusResult()) fields.prompt.focus();
}

/** Everything that follows from the fields and the turns. */
function changed() {
  settings.offer();
  const all = Array.from({ length: settings.slots }, (_, slot) => settings.facts(slot));
  images.offer(all.some(facts => facts.images));
  const { isRunning, isEmpty, hasResults } = conversation;
  send.disabled = isRunning;
  clear.disabled = isEmpty;
  send.textContent = hasResults && fields.prompt.value === '' ? 'Send results' : 'Send';
  writeCode();
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
