import { ask, type GatewayUnderTest } from '../../support/gateway-under-test.ts';

/** A request that is sent again and again: its prompt, with directives for the simulator, and other fields of its body. */
export interface Steady {
  readonly per_second: number;
  readonly prompt: string;
  readonly fields?: object;
  readonly headers?: Readonly<Record<string, string>>;
  /** Milliseconds after which the client leaves. */
  readonly patience_ms?: number;
  /** The client leaves after the first bytes of the reply. */
  readonly leaves_early?: true;
}

/** Sends requests at a steady pace until it is stopped or changed. Replies are read and thrown away. */
export class SteadyRequests {
  readonly #post: GatewayUnderTest['post'];
  readonly #waiting = new Set<Promise<unknown>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(post: GatewayUnderTest['post']) {
    this.#post = post;
  }

  /**
   * Sends these from now on, in place of all others. One timer sends all kinds, each in its share: with one for each, those that are sent
   * often would lose more of their turns on a busy machine.
   */
  send(...kinds: readonly Steady[]): void {
    clearInterval(this.#timer);
    const total = kinds.reduce((sum, { per_second }) => sum + per_second, 0);
    if (total === 0) return;
    const due = kinds.map(kind => ({ kind, share: 0 }));
    this.#timer = setInterval(() => {
      for (const each of due) each.share += each.kind.per_second / total;
      const next = due.reduce((most, each) => (each.share > most.share ? each : most));
      next.share--;
      void this.once(next.kind);
    }, 1000 / total);
  }

  /** Sends one request, and resolves when its reply has ended in any way. */
  once({ prompt, fields, headers, patience_ms, leaves_early }: Omit<Steady, 'per_second'>): Promise<unknown> {
    const signal = patience_ms === undefined ? null : AbortSignal.timeout(patience_ms);
    const done = this.#post(ask(prompt, { max_tokens: 5, ...fields }), {
      signal,
      ...(headers && { headers }),
    })
      .then(async (reply): Promise<unknown> => (leaves_early ? leave(reply) : reply.text()))
      .catch(() => {});
    this.#waiting.add(done);
    void done.then(() => this.#waiting.delete(done));
    return done;
  }

  async stop(): Promise<void> {
    this.send();
    await Promise.all(this.#waiting);
  }
}

async function leave(reply: Response): Promise<void> {
  const reader = reply.body!.getReader();
  await reader.read();
  await reader.cancel();
}
