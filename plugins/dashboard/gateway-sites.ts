import { isDeepStrictEqual } from 'node:util';
import type { ExtensionContext, RequestHandler } from '../../src/plugin.ts';
import { SignInMemory } from './access/sign-in-memory.ts';
import type { SiteParts } from './dashboard.ts';
import { GatewayCalls } from './gateway-calls.ts';
import { LiveStreams } from './live-streams.ts';
import { PageError, writeResponse } from './page-response.ts';

/** The dashboard and the portal of a gateway. Their handlers stay the same; who may sign in follows the configuration. */
export class GatewaySites {
  readonly #context: ExtensionContext;
  readonly #live = new LiveStreams();
  readonly #calls: GatewayCalls;
  /** What each remembers of its people. */
  readonly #signIns: Readonly<Record<'dashboard' | 'portal', SignInMemory>>;
  #settings: Pick<ExtensionContext['settings'], 'admin' | 'portal'>;
  #dashboard: RequestHandler;
  #portal: RequestHandler;

  constructor(context: ExtensionContext) {
    const { clock, handler } = context;
    this.#context = context;
    this.#calls = new GatewayCalls(handler);
    this.#signIns = { dashboard: new SignInMemory(clock), portal: new SignInMemory(clock) };
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
    this.#live.restart();
    if (!isDeepStrictEqual(before.admin, admin)) this.#dashboard = this.#createDashboard();
    if (!isDeepStrictEqual(before.portal, portal)) this.#portal = this.#createPortal();
  }

  readonly dashboard: RequestHandler = (request, response, next) => this.#dashboard(request, response, next);

  /** While the gateway closes, every page is answered 503. */
  readonly portal: RequestHandler = (request, response, next) =>
    this.#context.isClosing()
      ? void writeResponse(response, closing.response)
      : this.#portal(request, response, next);

  /** Ends all streams to open pages. */
  close(): void {
    this.#live.close();
  }

  #createDashboard(): RequestHandler {
    return this.#createLate('dashboard', async () =>
      (await import('./operators-site.ts')).operatorsSite(this.#context),
    );
  }

  #createPortal(): RequestHandler {
    return this.#createLate('portal', async () =>
      (await import('./portal-site.ts')).portalSite(this.#context),
    );
  }

  /** A handler that is created by its first request: the pages are a fifth of all modules, and many gateways show none. */
  #createLate(name: 'dashboard' | 'portal', partsOf: () => Promise<SiteParts>): RequestHandler {
    let created: RequestHandler | undefined;
    let creating: Promise<RequestHandler> | undefined;
    const create = async () => {
      const [{ createSite }, parts] = await Promise.all([import('./dashboard.ts'), partsOf()]);
      const signIns = this.#signIns[name];
      return createSite(this.#context, parts, { live: this.#live, calls: this.#calls, signIns });
    };
    return (request, response, next) => {
      if (created) return created(request, response, next);
      creating ??= create();
      creating.then(handler => {
        created = handler;
        handler(request, response, next);
      }, next);
    };
  }
}

const closing = new PageError(
  503,
  'This service is shutting down.',
  'Load the page again in a few seconds.',
  { connection: 'close', 'retry-after': '5' },
);
