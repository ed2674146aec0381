import { Answer } from './playground-answer.js';
import { eventsOf } from './playground-events.js';
import { codeOf, requestOf } from './playground-request.js';

const form = document.querySelector('form.ask');
const { elements: fields } = form;
const [send, cancel, publicUrl] = ['send', 'cancel', 'public-url'].map(id => document.getElementById(id));
const languages = [...document.querySelectorAll('button[data-language]')];

/** Of the request that runs, if one does; and of what is still asked about the one before. */
let running;
let settling = new AbortController();

const factsOf = () => JSON.parse(fields.model.selectedOptions[0].dataset.model);

function asked() {
  const values = Object.fromEntries(
    ['model', 'system', 'prompt', 'reasoning_effort', 'temperature', 'max_tokens'].map(name => [
      name,
      fields[name].value,
    ]),
  );
  return requestOf({ ...values, facts: factsOf() });
}

/** What the chosen model takes. */
function offer() {
  const { levels, usual, max_tokens } = factsOf();
  const effort = fields.reasoning_effort;
  const before = effort.value;
  effort.replaceChildren(
    new Option(usual === null ? 'not offered' : `default (${usual})`, ''),
    ...levels.map(level => new Option(level, level)),
  );
  effort.value = levels.includes(before) ? before : '';
  effort.disabled = levels.length === 0;
  fields.max_tokens.max = max_tokens;
}

function writeCode() {
  const language = languages.find(button => button.ariaPressed === 'true').dataset.language;
  document.getElementById('code').textContent = codeOf(language, asked(), publicUrl.value);
}

async function run() {
  settling.abort();
  settling = new AbortController();
  const answer = new Answer();
  running = new AbortController();
  setRunning(true);
  try {
    const body = new URLSearchParams({
      form_token: fields.form_token.value,
      key: fields.key?.value ?? '',
      request: JSON.stringify(asked()),
    });
    const response = await fetch(form.action, { method: 'POST', body, signal: running.signal });
    if (!response.headers.get('content-type')?.startsWith('text/event-stream'))
      answer.refusedHere(response.status, await response.text());
    else for await (const { event, data } of eventsOf(response)) answer.take(event, data);
    answer.end();
  } catch {
    if (running.signal.aborted) answer.cancelled();
    else answer.brokeOff();
  } finally {
    running = undefined;
    setRunning(false);
  }
  // The figures that were seen last stay where the ledger cannot be asked.
  answer.settled(settling.signal).catch(() => {});
}

/** The button that has nothing to do any longer does not keep the keyboard. */
function setRunning(isRunning) {
  const [on, off] = isRunning ? [cancel, send] : [send, cancel];
  const isHeld = document.activeElement === off;
  on.disabled = false;
  if (isHeld) on.focus();
  off.disabled = true;
  document.getElementById('answer-panel').ariaBusy = String(isRunning);
}

form.addEventListener('submit', event => {
  event.preventDefault();
  if (!running) run();
});
form.addEventListener('input', event => {
  if (event.target === fields.model) offer();
  writeCode();
});
fields.prompt.addEventListener('keydown', event => {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) form.requestSubmit();
});
cancel.addEventListener('click', () => running?.abort());
document.addEventListener('keydown', event => {
  if (event.key === 'Escape' && !event.isComposing) running?.abort();
});
publicUrl.addEventListener('input', writeCode);
for (const button of languages)
  button.addEventListener('click', () => {
    for (const other of languages) other.ariaPressed = String(other === button);
    writeCode();
  });

publicUrl.value ||= location.origin;
offer();
writeCode();
setRunning(false);
