import type { IncomingMessage, ServerResponse } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import type { RequestHandler } from '../../src/gateway/exchange/stage-plan.ts';
import type { OperatorOf } from '../../src/mount/gateway-options.ts';
import type { DashboardContext } from './page-request.ts';
import { portalListener } from './portal-listener.ts';

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
  readonly #operatorOf: OperatorOf | undefined;
  readonly #isClosing: () => boolean;
  #settings: Pick<DashboardContext['settings'], 'admin' | 'portal'>;
  #dashboard: RequestHandler;
  #portal: RequestHandler;
  #listener: ReturnType<typeof portalListener>;

  constructor(context: DashboardContext, operatorOf: OperatorOf | undefined, isClosing: () => boolean) {
    this.#context = context;
    this.#operatorOf = operatorOf;
    this.#isClosing = isClosing;
    this.#settings = context.settings;
    this.#dashboard = this.#createDashboard();
    this.#portal = this.#createPortal();
    this.#listener = this.#createListener();
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
    if (isDeepStrictEqual(before.portal, portal)) return;
    this.#portal = this.#createPortal();
    this.#listener = this.#createListener();
  }

  readonly dashboard: RequestHandler = (request, response, next) => this.#dashboard(request, response, next);

  readonly portal: RequestHandler = (request, response, next) => this.#portal(request, response, next);

  /** Serves the portal on a listener of the gateway; false for requests that are not for it. */
  servePortal(request: IncomingMessage, response: ServerResponse): boolean {
    return this.#listener(request, response);
  }

  #createDashboard(): RequestHandler {
    return createdLate(async () => {
      const [{ createSite }, { operatorsSite }] = await Promise.all([
        loadPages(),
        import('./operators-site.ts'),
      ]);
      return createSite(this.#context, operatorsSite(this.#context, this.#operatorOf));
    });
  }

  #createPortal(): RequestHandler {
    return createdLate(async () => {
      const [{ createSite }, { portalSite }] = await Promise.all([loadPages(), import('./portal-site.ts')]);
      return createSite(this.#context, portalSite(this.#context));
    });
  }

  #createListener(): ReturnType<typeof portalListener> {
    return portalListener(this.#portal, this.#settings.portal, this.#isClosing);
  }
}
