import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { ask } from './gateway-under-test.ts';
import { type ScriptedUpstream, startScriptedUpstream, whole } from './scripted-upstream.ts';
import { until } from './until.ts';

/** An upstream that records the usage it has reported; each reply differs from the last. */
export interface TellingUpstream {
  readonly upstream: ScriptedUpstream;
  /** The sum of the reported usage. */
  readonly told: { requests: number; prompt_tokens: number; completion_tokens: number };
}

export async function startTellingUpstream(): Promise<TellingUpstream> {
  const told = { requests: 0, prompt_tokens: 0, completion_tokens: 0 };
  const upstream = await startScriptedUpstream(async (socket: Socket) => {
    const prompt_tokens = 10 + (told.requests % 7);
    const completion_tokens = 5 + (told.requests % 11);
    told.requests++;
    told.prompt_tokens += prompt_tokens;
    told.completion_tokens += completion_tokens;
    await sleep(5);
    const message = { role: 'assistant', content: 'Hello.' };
    const usage = { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
    socket.write(whole(200, { id: 'c', choices: [{ index: 0, message, finish_reason: 'stop' }], usage }));
  });
  return { upstream, told };
}

/** Requests one after the other from several clients, until it is stopped. */
export class Load {
  /** When each request was answered, on `performance.now()`, by its status; 0 for a connection that broke. */
  readonly answers: { readonly at_ms: number; readonly status: number; readonly took_ms: number }[] = [];
  readonly #urls: readonly string[];
  readonly #key: string;
  readonly #clients: Promise<void>[];
  #isStopped = false;

  constructor(urls: readonly string[], key: string, clients: number) {
    this.#urls = urls;
    this.#key = key;
    this.#clients = Array.from({ length: clients }, (_, at) => this.#client(at));
  }

  count(status: number): number {
    return this.answers.filter(answer => answer.status === status).length;
  }

  get slowest_ms(): number {
    return Math.max(...this.answers.map(({ took_ms }) => took_ms));
  }

  /** Resolves when so many more have been answered. */
  async more(count: number): Promise<void> {
    const all = this.answers.length + count;
    await until(() => this.answers.length >= all, 15_000);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#clients);
  }

  async #client(at: number): Promise<void> {
    // biome-ignore lint/plugin: load, not a wait.
    while (!this.#isStopped) {
      const started_ms = performance.now();
      const status = await this.#ask(this.#urls[at % this.#urls.length]!);
      const now_ms = performance.now();
      this.answers.push({ at_ms: now_ms, status, took_ms: now_ms - started_ms });
      // A rate at which a shared machine keeps up, and what waits does not fill any queue.
      await sleep(50);
    }
  }

  async #ask(url: string): Promise<number> {
    try {
      const response = await fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        // Every request has the same id: clients may choose it, and each is an exchange of its own all the same.
        headers: {
          authorization: `Bearer ${this.#key}`,
          'content-type': 'application/json',
          'x-request-id': 'always-the-same',
        },
        body: JSON.stringify(ask('Hello')),
      });
      await response.arrayBuffer();
      return response.status;
    } catch {
      return 0;
    }
  }
}
