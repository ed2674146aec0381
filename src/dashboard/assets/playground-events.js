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

const headers = { 'content-type': 'application/x-www-form-urlencoded' };

/** Sends a run, an encoded form, to the dashboard, and gives `answer` what comes until its end; `onChange` is called for everything that does. */
export async function run({ action, body, answer, signal, onChange }) {
  try {
    const response = await fetch(action, { method: 'POST', headers, body, signal });
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

/** What a page of the dashboard says is wrong. */
function wordsOf(text) {
  const page = new DOMParser().parseFromString(text, 'text/html');
  const words = [...page.querySelectorAll('main h1, main h1 + p:not(:has(a))')];
  return words.map(({ textContent }) => textContent).join(' ');
}

/** How often, and how long apart, the ledger is asked for what has just ended. */
const most_askings = 25;
const pause_ms = 400;

/** What the ledger has of a request; undefined if it has none, as of requests without an account, or cannot be asked. */
export async function recordOf(request_id, signal) {
  for (let askings = 0; askings < most_askings; askings++) {
    await new Promise(resolve => setTimeout(resolve, pause_ms));
    if (signal.aborted) return undefined;
    const response = await fetch(`playground-record?id=${encodeURIComponent(request_id)}`, { signal });
    if (!response.ok) return undefined;
    const record = await response.json();
    if (record !== null) return record;
  }
  return undefined;
}
