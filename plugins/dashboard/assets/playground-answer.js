/** Ends that are no mishap, in words; others are named as they are. */
const ends = {
  stop: 'Complete.',
  length: 'Ended at the cap of tokens.',
  tool_calls: 'Ended with a tool call.',
  content_filter: 'Ended by a content filter.',
};

/** One answer as it comes: what the events of a run add up to. Shows nothing itself. */
export class Answer {
  text = '';
  reasoning = '';
  /** What went wrong, as the gateway or the dashboard says it. */
  fault;
  /** What is going on, in words. */
  state = 'Waiting for the first token…';
  usage;
  cost_usd;
  request_id;
  /** Beside the request id: parameters that were ignored, when to ask again. */
  notes = [];
  first_ms;
  total_ms;
  #sent_ms = performance.now();
  #end;
  #isDone = false;

  /** What the gateway sends, by the name of its event. */
  take(event, data) {
    if (event === 'cost') this.cost_usd = JSON.parse(data).cost_usd;
    else if (event === 'reply') this.#reply(JSON.parse(data));
    else if (event === 'chunk') this.#chunk(JSON.parse(data));
    else if (event === 'fault') this.#fault(JSON.parse(data).error);
    else if (event === 'done') this.#isDone = true;
  }

  /** Nothing more comes. */
  end() {
    if (!this.fault && !this.#isDone) return this.brokeOff();
    this.total_ms = this.#passed_ms();
    if (!this.fault) this.state = ends[this.#end] ?? `Ended: ${this.#end ?? 'without a reason'}.`;
  }

  stopped() {
    this.total_ms = this.#passed_ms();
    this.state = 'Stopped.';
  }

  brokeOff() {
    this.total_ms = this.#passed_ms();
    this.#fault({ message: 'The connection broke off before the answer was complete.' });
  }

  /** The dashboard itself did not pass the request on. */
  refusedHere(status, words) {
    const advice = status === 401 ? 'Sign in in another tab, and retry here.' : '';
    this.#fault({
      message: [words || `The dashboard answered ${status}.`, advice].filter(Boolean).join(' '),
    });
  }

  /** What it says, as messages of the conversation; none if there is nothing to go on with. */
  messages() {
    return this.text === '' ? [] : [{ role: 'assistant', content: this.text }];
  }

  /** How it went: `good` or `bad`; empty while it is not decided. */
  get tone() {
    if (this.fault) return 'bad';
    return this.#isDone ? 'good' : '';
  }

  /** Tokens per second since the first one; undefined before there is a speed. */
  speed() {
    const streamed_ms = (this.total_ms ?? this.#passed_ms()) - this.first_ms;
    // Of a single moment there is none.
    return streamed_ms > 100 && this.usage ? (this.usage.completion_tokens / streamed_ms) * 1000 : undefined;
  }

  #passed_ms() {
    return performance.now() - this.#sent_ms;
  }

  #reply({ status, request_id, retry_after_s, ignored_parameters, body }) {
    this.request_id = request_id;
    if (ignored_parameters) this.notes.push(`ignored: ${ignored_parameters}`);
    if (retry_after_s) this.notes.push(`to be tried again after ${retry_after_s} s`);
    if (body === undefined) return;
    this.#isDone = true;
    this.#whole(status, body);
  }

  /** A reply that is no stream: an error, or a completion. */
  #whole(status, body) {
    let parsed;
    try {
      parsed = JSON.parse(body);
    } catch {
      // Not written by the gateway.
      return this.#fault({ message: body.slice(0, 500), status });
    }
    const { error, choices, usage } = parsed;
    if (error || !choices) return this.#fault({ ...(error ?? { message: body.slice(0, 500) }), status });
    const whole = choices.map(({ message, finish_reason }) => ({ delta: message, finish_reason }));
    this.#chunk({ choices: whole, usage });
  }

  #chunk({ choices, usage }) {
    for (const { delta = {}, finish_reason } of choices) {
      this.#add('reasoning', delta.reasoning ?? delta.reasoning_content);
      this.#add('text', delta.content ?? delta.refusal);
      this.#end = finish_reason ?? this.#end;
    }
    if (usage) this.usage = usage;
  }

  #add(name, text) {
    if (!text) return;
    this.first_ms ??= this.#passed_ms();
    this.state = name === 'text' ? 'Answering…' : 'Reasoning…';
    this[name] += text;
  }

  #fault(error) {
    this.fault = error;
    this.state = this.first_ms === undefined ? 'Not answered.' : 'Broken off.';
  }
}
