import { node } from './playground-nodes.js';

const unknown = '–';
const ms = value => (value === undefined ? undefined : `${Math.round(value)}\u00a0ms`);
const seconds = value => (value === undefined ? undefined : `${(value / 1000).toFixed(2)}\u00a0s`);

/** What an answer has used, and its times. `seesMoney`: with its cost. */
export class Figures {
  element;
  #places = {};

  constructor(seesMoney) {
    const figure = (title, name, unit) =>
      node(
        'div',
        { className: 'figure' },
        node('dt', {}, title),
        node('dd', {}, this.#place(name, 'strong'), ' ', node('span', { className: 'muted' }, ...unit)),
      );
    this.element = node(
      'dl',
      { className: 'figures used' },
      figure('Prompt', 'prompt', ['tokens, ', this.#place('cached'), ' cached']),
      figure('Completion', 'completion', ['tokens, ', this.#place('reasoning'), ' reasoning']),
      seesMoney && figure('Cost', 'cost', ['exactly, in USD']),
      figure('First token', 'first-token', ['after sending']),
      figure('Total time', 'total', [this.#place('speed'), ' tokens/s']),
    );
  }

  #place(name, tag = 'span') {
    this.#places[name] = node(tag, { data: { used: name } }, unknown);
    return this.#places[name];
  }

  show(answer) {
    const { usage, cost_usd, first_ms, total_ms } = answer;
    this.#write({
      prompt: usage?.prompt_tokens,
      cached: usage?.prompt_tokens_details?.cached_tokens,
      completion: usage?.completion_tokens,
      reasoning: usage?.completion_tokens_details?.reasoning_tokens,
      cost: cost_usd === undefined ? undefined : `$${cost_usd}`,
      'first-token': ms(first_ms),
      total: seconds(total_ms),
      speed: answer.speed()?.toFixed(1),
    });
  }

  /** What is billed, in place of what was seen last. Of a completion without reasoning the ledger says 0. */
  settle({ tokens, cost_usd }) {
    const { prompt_tokens, cached_tokens, completion_tokens, reasoning_tokens } = tokens;
    this.#write({
      prompt: prompt_tokens,
      cached: cached_tokens,
      completion: completion_tokens,
      ...(reasoning_tokens > 0 && { reasoning: reasoning_tokens }),
      cost: cost_usd === undefined ? undefined : `$${cost_usd}`,
    });
  }

  #write(values) {
    for (const [name, value] of Object.entries(values))
      if (this.#places[name]) this.#places[name].textContent = value ?? unknown;
  }
}
