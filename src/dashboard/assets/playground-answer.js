/** Ends that are no mishap, in words; others are named as they are. */
const ends = {
  stop: 'Complete.',
  length: 'Ended at the cap of tokens.',
  tool_calls: 'Ended with a tool call.',
  content_filter: 'Ended by a content filter.',
};

/** How often, and how long apart, the ledger is asked for what has just ended. */
const most_askings = 25;
const pause_ms = 400;

const element = id => document.getElementById(id);

/** One answer as it comes. All of it is text: nothing that a model writes is ever taken for markup. */
export class Answer {
  #sent_ms = performance.now();
  #first_ms;
  #end;
  #isDone = false;
  #isFaulty = false;
  #request_id;

  constructor() {
    for (const id of ['fault', 'reasoning-text', 'text', 'request-id', 'record'])
      element(id).replaceChildren();
    for (const figure of document.querySelectorAll('[data-used]')) figure.textContent = '–';
    element('reasoning').hidden = true;
    this.#say('Waiting for the first token…');
    // In a narrow window it stands below the form.
    element('state').scrollIntoView({ block: 'nearest' });
  }

  /** What the gateway sends, by the name of its event. */
  take(event, data) {
    if (event === 'reply') this.#reply(data);
    else if (event === 'chunk') this.#chunk(data);
    else if (event === 'fault') this.#fault(data.error);
    else if (event === 'done') this.#isDone = true;
  }

  /** Nothing more comes. */
  end() {
    if (this.#isFaulty) return;
    if (!this.#isDone) return this.brokeOff();
    this.#say(ends[this.#end] ?? `Ended: ${this.#end ?? 'without a reason'}.`);
  }

  cancelled() {
    this.#say('Cancelled.');
  }

  /** The dashboard itself did not pass the request on. Its pages say why. */
  refusedHere(status, text) {
    const page = new DOMParser().parseFromString(text, 'text/html');
    const words = [...page.querySelectorAll('main h1, main h1 + p:not(:has(a))')].map(
      ({ textContent }) => textContent,
    );
    const advice = status === 401 ? 'Load the page again to sign in.' : '';
    this.#fault({ message: [words.join(' ') || `The dashboard answered ${status}.`, advice].join(' ') });
  }

  brokeOff() {
    this.#fault({ message: 'The connection broke off before the answer was complete.' });
  }

  /** Shows what is billed in place of what was seen last, once the ledger has it. Requests without an account have no record. */
  async settled(signal) {
    if (this.#request_id === undefined) return;
    const id = encodeURIComponent(this.#request_id);
    for (let askings = 0; askings < most_askings; askings++) {
      await new Promise(resolve => setTimeout(resolve, pause_ms));
      const response = await fetch(`playground-record?id=${id}`, { signal });
      const row = response.ok ? await response.json() : null;
      if (row && !signal.aborted) return this.#billed(row);
    }
  }

  #billed({ account, provider, end_reason, cost_usd, ...tokens }) {
    // Of reasoning it has none also where the provider has told of none.
    const told = ['prompt', 'cached', 'completion', ...(tokens.reasoning_tokens > 0 ? ['reasoning'] : [])];
    for (const name of told) show(name, tokens[`${name}_tokens`]);
    show('cost', `$${cost_usd}`);
    const by = provider === null ? '' : `, answered by ${provider}`;
    element('record').textContent =
      `In the ledger: account ${account}${by}, ${end_reason.replaceAll('_', ' ')}.`;
  }

  #reply({ status, request_id, retry_after_s, ignored_parameters, body }) {
    this.#request_id = request_id;
    const notes = [
      request_id && `Request ${request_id}`,
      ignored_parameters && `ignored: ${ignored_parameters}`,
      retry_after_s && `to be tried again after ${retry_after_s} s`,
    ];
    element('request-id').textContent = notes.filter(Boolean).join(', ');
    if (body?.error) this.#fault({ ...body.error, status });
  }

  #chunk({ choices, usage, cost_usd }) {
    for (const { delta = {}, finish_reason } of choices) {
      this.#append('reasoning-text', delta.reasoning ?? delta.reasoning_content);
      this.#append('text', delta.content ?? delta.refusal);
      this.#end = finish_reason ?? this.#end;
    }
    if (usage) this.#used(usage, cost_usd);
  }

  #append(id, text) {
    if (!text) return;
    const place = element(id);
    if (this.#first_ms === undefined) {
      this.#first_ms = performance.now();
      show('first-token', `${Math.round(this.#first_ms - this.#sent_ms)}\u00a0ms`);
    }
    if (id === 'reasoning-text') element('reasoning').hidden = false;
    this.#say(id === 'text' ? 'Answering…' : 'Reasoning…');
    // Only the reasoning scrolls by itself, unless the reader has scrolled up.
    const follows = id === 'reasoning-text' && place.scrollHeight - place.scrollTop - place.clientHeight < 24;
    if (place.firstChild) place.firstChild.appendData(text);
    else place.append(text);
    if (follows) place.scrollTop = place.scrollHeight;
  }

  #used({ prompt_tokens, completion_tokens, prompt_tokens_details, completion_tokens_details }, cost_usd) {
    show('prompt', prompt_tokens);
    show('cached', prompt_tokens_details?.cached_tokens);
    show('completion', completion_tokens);
    show('reasoning', completion_tokens_details?.reasoning_tokens);
    show('cost', cost_usd === undefined ? undefined : `$${cost_usd}`);
    const streamed_ms = performance.now() - this.#first_ms;
    // Of a single moment there is no speed.
    if (streamed_ms > 100) show('speed', ((completion_tokens / streamed_ms) * 1000).toFixed(1));
  }

  #fault({ message, type, code, status }) {
    this.#isFaulty = true;
    const words = document.createElement('p');
    words.className = 'notice bad';
    const kind = [status, type, code].filter(Boolean).join(' · ');
    words.textContent = kind ? `${message} (${kind})` : message;
    element('fault').replaceChildren(words);
    this.#say(this.#first_ms === undefined ? 'Not answered.' : 'Broken off.');
  }

  #say(text) {
    const state = element('state');
    if (state.textContent !== text) state.textContent = text;
  }
}

function show(name, value) {
  document.querySelector(`[data-used="${name}"]`).textContent = value ?? '–';
}
