import type { IncomingMessage } from 'node:http';
import type { Usage } from '../../gateway/exchange/canonical.ts';
import type { Exchange } from '../../gateway/exchange/exchange.ts';
import type { RunningUsage } from '../../gateway/exchange/exchange-view.ts';
import { reportBounded } from '../../gateway/settlement/stream-meter.ts';
import { boundedUsage, type UsageBounds, windowBounds } from '../../gateway/settlement/usage-bounds.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { type CallKind, callKindOf } from './call-kind.ts';
import type { ReplyNames } from './passthrough-telemetry.ts';
import { ReplyMeter } from './reply-meter.ts';
import { RequestMeter } from './request-meter.ts';
import type { ServedModels } from './served-models.ts';

/** Methods of calls that only read or remove, unless they have a body. */
const bodyless = new Set(['GET', 'HEAD', 'DELETE']);

/** Reads the model and the usage of one call in its bytes as they pass, and tells the exchange of them. */
export class PassthroughMeter {
  readonly #exchange: Exchange;
  readonly #models: ServedModels;
  readonly #metrics: Metrics;
  readonly #kind: CallKind;
  readonly #request: RequestMeter;
  #reply: ReplyMeter | undefined;

  constructor(exchange: Exchange, models: ServedModels, metrics: Metrics, url: string) {
    this.#exchange = exchange;
    this.#models = models;
    this.#metrics = metrics;
    this.#kind = callKindOf(exchange.path);
    this.#request = new RequestMeter(exchange.headers);
    exchange.model ??= models.inTarget(exchange.path, url);
  }

  /**
   * The meter of a call. Undefined for one without a body, unless it is a POST: others read and list what was made earlier, such as a batch
   * with the usage of all its requests.
   */
  static of(
    exchange: Exchange,
    models: ServedModels,
    metrics: Metrics,
    url: string,
  ): PassthroughMeter | undefined {
    const { method, headers } = exchange;
    const hasBody = Number(headers['content-length']) > 0 || headers['transfer-encoding'] !== undefined;
    return bodyless.has(method) && !hasBody
      ? undefined
      : new PassthroughMeter(exchange, models, metrics, url);
  }

  /** Takes a part of the request body. */
  readonly onBody = (part: Buffer): void => {
    // An application may have asked for text.
    this.#request.write(Buffer.isBuffer(part) ? part : Buffer.from(part));
  };

  /** Begins to read a reply whose body has not been read. */
  begin(reply: IncomingMessage): void {
    this.#setModel();
    this.#reply = new ReplyMeter(reply, { generates: this.#kind === 'generates' });
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

  /**
   * Sets the model and the usage of the exchange: what the reply reports, and an estimate of what it does not. `hasFailed`: by the
   * upstream or the gateway, and not because its client left.
   */
  settle(hasFailed: boolean): void {
    this.#setModel();
    const isOwed = this.#kind !== 'stores' && this.#isOwed(hasFailed);
    // A price is set for what the provider serves, whatever a call leaves unsaid.
    if (this.#isNameless && (isOwed || this.#reply?.usage)) this.#exchange.model = this.#models.dearest;
    const told = this.#toldUsage();
    if (told) this.#bill(told);
    if (isOwed && this.#exchange.model) this.#estimateRest(told);
  }

  /** Whether a reply without usage costs anything: one that has come, in whole or in part, or that the client has not waited for. */
  #isOwed(hasFailed: boolean): boolean {
    const reply = this.#reply;
    if (hasFailed) return reply !== undefined && !reply.isWhole && reply.text_tokens > 0;
    const { client_gone, incoming } = this.#exchange;
    return reply !== undefined || (client_gone && incoming.complete && this.#request.hasBegun);
  }

  /** Adds an estimate of what the upstream has not told. */
  #estimateRest(told: Usage | undefined): void {
    const text_tokens = this.#reply?.text_tokens ?? 0;
    if (told && told.prompt_tokens > 0 && text_tokens === 0) return;
    const { model, usage } = this.#exchange;
    const { choices, max_completion } = this.#request;
    const most = Math.min(windowBounds(model, choices).completion, max_completion * choices);
    usage.prompt_tokens ||= this.#request.tokens;
    usage.completion_tokens += Math.min(text_tokens, Math.max(0, most - usage.completion_tokens));
    usage.estimated = true;
  }

  /** The upstream's figures as far as they can be. */
  #toldUsage(): Usage | undefined {
    const usage = this.#reply?.usage;
    if (!usage) return undefined;
    const told = boundedUsage(usage, this.#bounds());
    if (told !== usage) reportBounded(this.#exchange, usage, this.#metrics);
    return told;
  }

  /** Bounds by the model's window, or by the bytes where they are more: many prompts in one call exceed a window. */
  #bounds(): UsageBounds {
    const { choices, most_tokens } = this.#request;
    const { prompt, completion } = windowBounds(this.#exchange.model, choices);
    return {
      prompt: Math.max(prompt, most_tokens),
      completion: Math.max(completion, this.#reply!.most_tokens),
    };
  }

  #bill(told: Usage): void {
    const { prompt_tokens, completion_tokens } = told;
    const { cached_tokens, cache_creation_tokens } = told.prompt_tokens_details;
    Object.assign(this.#exchange.usage, {
      ...{ prompt_tokens, completion_tokens, cached_tokens, cache_creation_tokens },
      completion_details: told.completion_tokens_details,
      estimated: false,
    } satisfies RunningUsage);
  }

  get #isNameless(): boolean {
    const { model } = this.#exchange;
    return model === undefined && this.#request.model === undefined && this.#reply?.model === undefined;
  }

  #setModel(): void {
    for (const name of [this.#request.model, this.#reply?.model])
      if (name !== undefined) this.#exchange.model ??= this.#models.named(name);
  }
}
