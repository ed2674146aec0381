/** The events of a response, each `{ event, data }` with its data as it came. Comments are left out. */
async function* eventsOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let held = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (held + value).split('\n\n');
    held = blocks.pop();
    for (const block of blocks) {
      const match = /^event: (.*)\ndata: (.*)$/.exec(block);
      if (match) yield { event: match[1], data: match[2] };
    }
  }
}

/** Sends the fields of a run to the dashboard, and gives `answer` what comes until its end; `onChange` is called for everything that does. */
export async function run({ action, fields, answer, signal, onChange }) {
  const send = () => fetch(action, { method: 'POST', body: fields, signal });
  try {
    let response = await send();
    if (response.status === 403 && (await renewToken(fields, signal))) response = await send();
    if (!response.headers.get('content-type')?.startsWith('text/event-stream'))
      answer.refusedHere(response.status, wordsOf(await response.text()));
    else
      for await (const { event, data } of eventsOf(response)) {
        answer.take(event, data);
        onChange();
      }
    answer.end();
  } catch {
    if (signal.aborted) answer.stopped();
    else answer.brokeOff();
  }
}

/** Takes over the form token of the session that there is now, which was perhaps begun in another tab; false if there is none. */
async function renewToken(fields, signal) {
  const page = parsed(await (await fetch('playground', { signal })).text());
  const token = page.querySelector('form.playground input[name="form_token"]')?.value;
  if (token === undefined) return false;
  for (const input of document.querySelectorAll('input[name="form_token"]')) input.value = token;
  fields.set('form_token', token);
  return true;
}

const parsed = text => new DOMParser().parseFromString(text, 'text/html');

/** What a page of the dashboard says is wrong. */
function wordsOf(text) {
  const page = parsed(text);
  const words = [...page.querySelectorAll('main h1, main h1 + p:not(:has(a))')];
  return words.map(({ textContent }) => textContent).join(' ');
}

/** How often, and how long apart, the ledger is asked for what has just ended: for about a minute, less and less often. */
const most_askings = 20;
const pause_ms = askings => Math.min(5000, 400 * 1.3 ** askings);

/** What the ledger has of a request; undefined if it has none, as of requests without an account, or cannot be asked. */
export async function recordOf(request_id, signal) {
  for (let askings = 0; askings < most_askings; askings++) {
    await new Promise(resolve => setTimeout(resolve, pause_ms(askings)));
    if (signal.aborted) return undefined;
    const response = await fetch(`playground-record?id=${encodeURIComponent(request_id)}`, { signal });
    if (!response.ok) return undefined;
    const record = await response.json();
    if (record !== null) return record;
  }
  return undefined;
}
