import { isDeepStrictEqual } from 'node:util';
import type { RequestHandler } from '../../src/plugin.ts';
import type { DashboardContext } from './page-request.ts';
import { PageError, writeResponse } from './page-response.ts';

const loadPages = () => import('./dashboard.ts');

/** A handler that is created by its first request: the pages are a fifth of all modules, and many gateways show none. */
function createdLate(create: () => Promise<RequestHandler>): RequestHandler {
  let created: RequestHandler | undefined;
  let creating: Promise<RequestHandler> | undefined;
  return (request, response, next) => {
    if (created) return created(request, response, next);
    creating ??= create();
    creating.then(handler => {
      created = handler;
      handler(request, response, next);
    }, next);
  };
}

/** The dashboard and the portal of a gateway. Their handlers stay the same; who may sign in follows the configuration. */
export class GatewaySites {
  readonly #context: DashboardContext;
  #settings: Pick<DashboardContext['settings'], 'admin' | 'portal'>;
  #dashboard: RequestHandler;
  #portal: RequestHandler;

  constructor(context: DashboardContext) {
    this.#context = context;
    this.#settings = context.settings;
    this.#dashboard = this.#createDashboard();
    this.#portal = this.#createPortal();
  }

  /** Follows the configuration of the context. Pages whose section has not changed stay as they are. */
  configure(): void {
    const before = this.#settings;
    const { admin, portal } = this.#context.settings;
    this.#settings = { admin, portal };
    if (isDeepStrictEqual(before, this.#settings)) return;
    // Streams that are open know only who might read them before.
    this.#context.live.restart();
    if (!isDeepStrictEqual(before.admin, admin)) this.#dashboard = this.#createDashboard();
    if (!isDeepStrictEqual(before.portal, portal)) this.#portal = this.#createPortal();
  }

  readonly dashboard: RequestHandler = (request, response, next) => this.#dashboard(request, response, next);

  /** While the gateway closes, every page is answered 503. */
  readonly portal: RequestHandler = (request, response, next) =>
    this.#context.isClosing()
      ? writeResponse(response, closing.response)
      : this.#portal(request, response, next);

  #createDashboard(): RequestHandler {
    return createdLate(async () => {
      const [{ createSite }, { operatorsSite }] = await Promise.all([
        loadPages(),
        import('./operators-site.ts'),
      ]);
      return createSite(this.#context, operatorsSite(this.#context));
    });
  }

  #createPortal(): RequestHandler {
    return createdLate(async () => {
      const [{ createSite }, { portalSite }] = await Promise.all([loadPages(), import('./portal-site.ts')]);
      return createSite(this.#context, portalSite(this.#context));
    });
  }
}

const closing = new PageError(
  503,
  'This service is shutting down.',
  'Load the page again in a few seconds.',
  { connection: 'close', 'retry-after': '5' },
);
