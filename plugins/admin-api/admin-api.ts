import type { ExtensionContext, RequestHandler } from '../../src/plugin.ts';
import type { AdminApiOptions } from './admin-api-options.ts';
import type { ApiHandler } from './api-handler.ts';

/** The Admin API of a gateway. Its routes are loaded by the first request, since many gateways have none. */
export class AdminApi {
  readonly #context: ExtensionContext;
  #options: AdminApiOptions;
  #loading: Promise<ApiHandler> | undefined;

  constructor(context: ExtensionContext, options: AdminApiOptions) {
    this.#context = context;
    this.#options = options;
  }

  /** Follows a configuration. */
  configure(options: AdminApiOptions): void {
    this.#options = options;
    void this.#loading?.then(handler => handler.configure(options));
  }

  /** Answers what is below `/v1`, and calls `next` for the rest. */
  readonly handle: RequestHandler = async (request, response, next) => {
    if (!this.#options.enabled || !/^\/v1(?![^/?])/.test(request.url ?? '')) return next();
    this.#loading ??= import('./api-handler.ts').then(
      ({ ApiHandler }) => new ApiHandler(this.#context, this.#options),
    );
    await (await this.#loading).answer(request, response);
  };
}
