import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An upstream that answers at once, or on `release`, and sums the usage it reports. */
export class CountingUpstream {
  requests = 0;
  /** The sum of all `total_tokens` that it has reported. */
  tokens = 0;
  /** How many requests wait for `release`. */
  get held(): number {
    return this.#held.length;
  }
  #toHold = 0;
  #held: (() => void)[] = [];
  readonly #server = createServer((request, response) => void this.#answer(request, response));

  /** With `/v1`, as a provider's `base_url`. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  /** The next requests wait, so many of them. */
  hold(count: number): void {
    this.#toHold = count;
  }

  /** Answers all that wait, and at once from now on. */
  release(): void {
    this.#toHold = 0;
    for (const answer of this.#held.splice(0)) answer();
  }

  listen(): Promise<void> {
    return new Promise(resolve => {
      this.#server.listen(0, '127.0.0.1', resolve);
    });
  }

  close(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise(resolve => {
      this.#server.close(() => resolve());
    });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const number = ++this.requests;
    for await (const _ of request);
    if (this.#toHold > 0) {
      this.#toHold--;
      await new Promise<void>(resolve => this.#held.push(resolve));
    }
    if (response.destroyed) return;
    const prompt_tokens = 10 + (number % 7);
    const completion_tokens = 1 + ((number * 37) % 90);
    const total_tokens = prompt_tokens + completion_tokens;
    this.tokens += total_tokens;
    const message = { role: 'assistant', content: 'Yes.' };
    const body = {
      id: `chatcmpl-${number}`,
      object: 'chat.completion',
      created: 1_795_132_800,
      model: 'any',
      choices: [{ index: 0, message, finish_reason: 'stop' }],
      usage: { prompt_tokens, completion_tokens, total_tokens },
    };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  }
}
