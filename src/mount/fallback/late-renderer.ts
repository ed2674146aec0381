import type { GenerationFormat, Identity, StreamRenderer } from '../../gateway/dialects/define-dialect.ts';
import type { Exchange } from '../../gateway/exchange/exchange.ts';

/** `format`, whose streams name the model that the exchange has when they begin: another one may have taken the first one's place. */
export const withLateModel = (format: GenerationFormat, exchange: Exchange): GenerationFormat =>
  Object.create(format, {
    renderStream: {
      value: (identity: Identity, promptTokens: () => number): StreamRenderer => {
        const render = (of: Identity) => format.renderStream(of, promptTokens);
        return new LateRenderer(exchange, identity, render);
      },
    },
  });

class LateRenderer implements StreamRenderer {
  readonly #exchange: Exchange;
  readonly #identity: Identity;
  readonly #render: (identity: Identity) => StreamRenderer;
  #made: StreamRenderer;
  #hasBegun = false;
  readonly contentType?: string;
  readonly heartbeat?: () => string;

  constructor(exchange: Exchange, identity: Identity, render: (identity: Identity) => StreamRenderer) {
    this.#exchange = exchange;
    this.#identity = identity;
    this.#render = render;
    const renderer = render(identity);
    this.#made = renderer;
    if (renderer.contentType !== undefined) this.contentType = renderer.contentType;
    if (renderer.heartbeat) this.heartbeat = () => renderer.heartbeat!();
  }

  chunk(chunk: Parameters<StreamRenderer['chunk']>[0]): string {
    return this.#renderer.chunk(chunk);
  }

  error(error: Parameters<StreamRenderer['error']>[0]): string {
    return this.#renderer.error(error);
  }

  ending(): Promise<void> | undefined {
    return this.#made.ending?.();
  }

  end(): string {
    return this.#made.end();
  }

  /** The renderer of the model that answers, from the first event on. */
  get #renderer(): StreamRenderer {
    if (this.#hasBegun) return this.#made;
    this.#hasBegun = true;
    const { request } = this.#exchange;
    if (request.model !== this.#identity.request.model)
      this.#made = this.#render({ ...this.#identity, model: request.model, request });
    return this.#made;
  }
}
