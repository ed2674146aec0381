import type { IncomingMessage, ServerResponse } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import type { RequestHandler } from '../chain/stage-plan.ts';
import type { OperatorOf } from '../gateway-options.ts';
import { createSite } from './dashboard.ts';
import { operatorsSite } from './operators-site.ts';
import type { DashboardContext } from './page-request.ts';
import { portalListener } from './portal-listener.ts';
import { portalSite } from './portal-site.ts';

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

  /** Follows the configuration of the context. What it says alike stays as it is: nobody has to sign in again. */
  configure(): void {
    const before = this.#settings;
    const { admin, portal } = this.#context.settings;
    this.#settings = { admin, portal };
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
    return createSite(this.#context, operatorsSite(this.#context, this.#operatorOf));
  }

  #createPortal(): RequestHandler {
    return createSite(this.#context, portalSite(this.#context));
  }

  #createListener(): ReturnType<typeof portalListener> {
    return portalListener(this.#portal, this.#settings.portal, this.#isClosing);
  }
}
