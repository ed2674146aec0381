import { setTimeout as after } from 'node:timers/promises';
import { Agent, fetch, type Response } from 'undici';
import { ask, clientKey } from '../support/gateway-under-test.ts';

const question = 'Tell me of a provider that died. [[sim:tokens=12]]';
export const model = 'aion-labs/aion-3.5';
const turn_ms = 5;
/** How long the last replies may take. */
const patience_ms = 30_000;

/** What clients have seen. */
export interface Seen {
  sent: number;
  /** Whole answers, each with exactly the text that it should have. */
  answered: number;
  /** Statuses other than 200, and what was said. */
  readonly refused: string[];
  /** Streams that broke after they had begun with text: nothing else can be done for those. */
  broken: number;
  /** What must not be: a text that is not the answer or its beginning, an error in a stream without any text. */
  readonly wrong: string[];
}

/** Sends requests at a steady rate, however long they take; half of them streams. */
export class Load {
  readonly seen: Seen = { sent: 0, answered: 0, refused: [], broken: 0, wrong: [] };
  readonly #url: string;
  readonly #rate: number;
  readonly #agent = new Agent({ connections: null, pipelining: 1 });
  readonly #running = new Set<Promise<void>>();
  #expected = '';
  #ended = false;

  constructor(url: string, rate: number) {
    this.#url = url;
    this.#rate = rate;
  }

  /** Learns what the answer is, which is always the same, and begins. */
  async begin(): Promise<void> {
    this.#expected = textOf(await (await this.#send(false)).text());
    if (this.#expected === '') throw new Error('the first answer is empty');
    void this.#pace();
  }

  /** Sends nothing more, and waits for what is under way. */
  async end(): Promise<void> {
    this.#ended = true;
    const over = new AbortController();
    const late = after(patience_ms, undefined, over).then(
      () => void this.seen.wrong.push(`${this.#running.size} requests without an end`),
      () => {},
    );
    await Promise.race([Promise.all(this.#running), late]);
    over.abort();
    await this.#agent.destroy();
  }

  async #pace(): Promise<void> {
    let due = 0;
    let at_ms = performance.now();
    for (;;) {
      await after(turn_ms);
      // The end may have come meanwhile, and waits only for what had begun before it.
      if (this.#ended) return;
      const passed_ms = performance.now() - at_ms;
      at_ms += passed_ms;
      // What a busy machine has not let happen is not made up for all at once.
      due += (Math.min(passed_ms, 4 * turn_ms) / 1000) * this.#rate;
      for (; due >= 1; due--) this.#start(this.seen.sent++ % 2 === 0);
    }
  }

  #start(stream: boolean): void {
    const one: Promise<void> = this.#one(stream).finally(() => this.#running.delete(one));
    this.#running.add(one);
  }

  #send(stream: boolean): Promise<Response> {
    return fetch(`${this.#url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${clientKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(ask(question, { model, stream })),
      dispatcher: this.#agent,
    });
  }

  async #one(stream: boolean): Promise<void> {
    try {
      const response = await this.#send(stream);
      const text = await response.text();
      if (response.status !== 200) this.seen.refused.push(`${response.status} ${text.slice(0, 200)}`);
      else if (stream) this.#stream(text);
      else if (textOf(text) === this.#expected) this.seen.answered++;
      else this.seen.wrong.push(`another answer: ${text.slice(0, 300)}`);
    } catch (fault) {
      this.seen.refused.push(`no reply: ${String((fault as Error).cause ?? fault)}`);
    }
  }

  #stream(text: string): void {
    const said = streamedTextOf(text);
    const broke = text.includes('data: {"error"');
    if (!broke && said === this.#expected) this.seen.answered++;
    else if (broke && said !== '' && this.#expected.startsWith(said)) this.seen.broken++;
    else this.seen.wrong.push(`${broke ? 'broken' : 'whole'} stream: ${text.slice(-300)}`);
  }
}

interface Message {
  readonly content?: string | null;
  readonly reasoning?: string;
}

const said = ({ reasoning = '', content }: Message): string => reasoning + (content ?? '');

const textOf = (body: string): string =>
  said((JSON.parse(body) as { choices: [{ message: Message }] }).choices[0].message);

const streamedTextOf = (text: string): string =>
  [...text.matchAll(/^data: (\{"id".*\})$/gm)]
    .map(([, json = '']) => said((JSON.parse(json) as { choices: [{ delta: Message }] }).choices[0].delta))
    .join('');
