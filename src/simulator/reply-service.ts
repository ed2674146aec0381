import { type Directives, readDirectives } from './directives.ts';
import { failureInstead, hasStreamFaults, isFailure, sendCompletion, withFaults } from './faults.ts';
import type { SimulatorOptions } from './options.ts';
import { readSource } from './read-source.ts';
import { planReply } from './reply.ts';
import { saltSeed } from './seed.ts';
import type { SimulatedExchange } from './simulated-exchange.ts';
import { sendStream } from './stream.ts';
import type { WireFormat } from './wire-format.ts';

/** Answers requests in one format as the options and the requests' own directives say. */
export class ReplyService {
  readonly #format: WireFormat;
  readonly #options: SimulatorOptions;
  readonly #failure: Directives;
  /** Requests of which it was decided whether they fail. */
  #drawn = 0;

  constructor(format: WireFormat, options: SimulatorOptions) {
    this.#format = format;
    this.#options = options;
    this.#failure = readDirectives(options.fail ?? 'status=503');
  }

  /** Answers the request with this body, at once or paced. Throws a Refusal for a bad one. */
  answer(exchange: SimulatedExchange, body_text: string): void {
    const failure = this.#fails() ? this.#failure : {};
    const reply = planReply(readSource(this.#format, body_text, this.#options, failure));
    const { directives, model } = reply;
    const { ttft_ms, tokens_per_second } = reply.options;
    const ms_per_token = tokens_per_second === 0 ? 0 : 1_000 / tokens_per_second;
    if (isFailure(directives)) exchange.outcome = 'failed';
    const instead = failureInstead(directives);
    if (instead) {
      exchange.after(ttft_ms, () => instead(exchange));
    } else if (reply.request.stream && !directives.json) {
      const head = this.#format.head(model, true);
      const whole = this.#format.events(reply);
      const events = hasStreamFaults(directives) ? withFaults(whole, directives) : whole[Symbol.iterator]();
      sendStream(exchange, { head, events, ttft_ms, ms_per_token, done: this.#format.done });
    } else {
      const longest = Math.max(...reply.choices.map(({ tally }) => tally.completion));
      // An endless completion is never sent: the client waits until it gives up.
      if (longest === Number.POSITIVE_INFINITY) return;
      exchange.after(ttft_ms + longest * ms_per_token, () => {
        const text = this.#format.head(model, false) + this.#format.completion(reply);
        sendCompletion(exchange, text, directives);
      });
    }
  }

  /** Whether the next request fails by the fail rate: the same requests for the same seed. */
  #fails(): boolean {
    const { fail_rate, seed } = this.#options;
    return fail_rate > 0 && saltSeed(seed, this.#drawn++) / 2 ** 32 < fail_rate;
  }
}
