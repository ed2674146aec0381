import type { IncomingMessage } from 'node:http';
import type { Model } from '../../catalog/catalog.ts';
import type { RunningUsage } from '../../exchange/exchange-view.ts';
import type { Exchange } from '../../exchange.ts';
import { JsonMembers } from './json-members.ts';
import type { ReplyNames } from './passthrough-telemetry.ts';
import { isJson, ReplyMeter } from './reply-meter.ts';

const max_name_bytes = 1024;

/** Reads the model and the usage of one call in its bytes as they pass, and tells the exchange of them. */
export class PassthroughMeter {
  readonly #exchange: Exchange;
  readonly #modelOf: (name: string) => Model | undefined;
  readonly #request: JsonMembers | undefined;
  #reply: ReplyMeter | undefined;

  constructor(exchange: Exchange, modelOf: (name: string) => Model | undefined) {
    this.#exchange = exchange;
    this.#modelOf = modelOf;
    const { headers } = exchange;
    // A compressed request body is not read: the reply names the model as well.
    if (isJson(headers) && headers['content-encoding'] === undefined)
      this.#request = new JsonMembers(['model'], max_name_bytes);
  }

  /**
   * The meter of a call. Undefined unless it is a POST: others read and list what was made earlier, such as a batch with the usage of
   * all its requests.
   */
  static of(exchange: Exchange, modelOf: (name: string) => Model | undefined): PassthroughMeter | undefined {
    return exchange.method === 'POST' ? new PassthroughMeter(exchange, modelOf) : undefined;
  }

  /** Takes a part of the request body. */
  readonly onBody = (part: Buffer): void => {
    // An application may have asked for text.
    if (Buffer.isBuffer(part)) this.#request?.write(part);
  };

  /** Begins to read a reply whose body has not been read. */
  begin(reply: IncomingMessage): void {
    this.#setModel();
    this.#reply = ReplyMeter.of(reply);
  }

  /** True if the reply is read to its end for its usage when its client leaves. */
  get readsOn(): boolean {
    return this.#reply?.isWhole === true && this.#exchange.model?.on_client_gone !== 'abort';
  }

  /** Resolves when what has passed of the reply was read. */
  get done(): Promise<void> | undefined {
    return this.#reply?.done;
  }

  /** What the reply says of itself. */
  get names(): ReplyNames {
    return { id: this.#reply?.id, model: this.#reply?.model };
  }

  /** Sets the model and the usage of the exchange, as far as they are known. */
  settle(): void {
    this.#setModel();
    const usage = this.#reply?.usage;
    if (!usage) return;
    const { prompt_tokens, completion_tokens } = usage;
    const { cached_tokens, cache_creation_tokens } = usage.prompt_tokens_details;
    Object.assign(this.#exchange.usage, {
      ...{ prompt_tokens, completion_tokens, cached_tokens, cache_creation_tokens },
      completion_details: usage.completion_tokens_details,
      estimated: false,
    } satisfies RunningUsage);
  }

  #setModel(): void {
    for (const name of [this.#request?.get('model'), this.#reply?.model])
      if (typeof name === 'string') this.#exchange.model ??= this.#modelOf(name);
  }
}
