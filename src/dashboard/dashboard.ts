import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestHandler } from '../chain/stage-plan.ts';
import { RecordRefused, StoreUnavailable } from '../stores/records/database.ts';
import { type Answer, htmlAnswer, redirect, writeAnswer } from './answer.ts';
import { loadAssets } from './assets.ts';
import type { DashboardContext } from './dashboard-context.ts';
import type { Page, Visit } from './page-request.ts';
import { pages } from './pages/index.ts';
import { Refusal } from './refusal.ts';
import { type OperatorOf, SessionGuard } from './session-guard.ts';
import { errorPage } from './view/error-page.ts';

type MountedRequest = IncomingMessage & { readonly originalUrl?: string; readonly baseUrl?: string };

/**
 * The dashboard as a handler, to be mounted at a path. Serves only whoever is signed in by `admin.users`, or whom `operatorOf` names; with
 * neither there is none, and all requests are left to the parent.
 */
export function createDashboard(desk: DashboardContext, operatorOf: OperatorOf | undefined): RequestHandler {
  if (!operatorOf && Object.keys(desk.settings.admin.users).length === 0) return (_, __, next) => next();
  const dashboard = new Dashboard(desk, new SessionGuard(desk, operatorOf));
  return (request, response, next) => {
    const { path, query } = placeOf(request);
    if (path === undefined) return writeAnswer(response, redirect(withSlash(request)));
    if (!dashboard.has(path) && !(request as MountedRequest).baseUrl) return next();
    dashboard.answer(path, query, request, response).then(
      answer => answer && writeAnswer(response, answer),
      fault => {
        // Whoever has left needs no answer.
        if (response.destroyed) return;
        desk.log.error({ err: fault, path }, 'a page of the dashboard could not be answered');
        if (response.headersSent) response.destroy();
        else writeAnswer(response, htmlAnswer(500, errorPage(500, 'This page failed.', 'The log says why.')));
      },
    );
  };
}

class Dashboard {
  readonly #desk: DashboardContext;
  readonly #door: SessionGuard;
  readonly #assets = loadAssets();
  readonly #pages: ReadonlyMap<string, Page> = new Map(pages.map(page => [page.name, page]));

  constructor(desk: DashboardContext, door: SessionGuard) {
    this.#desk = desk;
    this.#door = door;
  }

  has(path: string): boolean {
    return this.#pages.has(path) || this.#assets.has(path) || this.#door.has(path);
  }

  async answer(
    path: string,
    query: URLSearchParams,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<Answer | undefined> {
    try {
      const asset = this.#assets.get(path);
      if (asset) return asset;
      if (this.#door.has(path)) return await this.#door.answer(path, query, request, response);
      const page = this.#pages.get(path);
      if (!page)
        throw new Refusal(404, 'There is no such page.', 'It may have moved; begin at the overview.');
      const entered = await this.#door.enter(path, query, request, response, page.max_form_bytes);
      if ('status' in entered) return entered;
      const visit: Visit = { ...entered, desk: this.#desk, page: path, query, request, response };
      return await this.#visited(page, visit);
    } catch (thrown) {
      return this.#refused(thrown);
    }
  }

  #visited(page: Page, visit: Visit): ReturnType<NonNullable<Page['get']>> {
    const { method } = visit.request;
    const answering =
      method === 'POST' ? page.post : method === 'GET' || method === 'HEAD' ? page.get : undefined;
    if (!answering) throw new Refusal(405, `This page does not take ${method}.`);
    return answering(visit);
  }

  #refused(thrown: unknown): Answer {
    if (thrown instanceof Refusal) return thrown.answer();
    if (thrown instanceof RecordRefused)
      return new Refusal(
        422,
        'The records store does not take this.',
        'Leave out unusual characters.',
      ).answer();
    if (!(thrown instanceof StoreUnavailable)) throw thrown;
    this.#desk.log.warn({ err: thrown }, 'the dashboard cannot reach the records store');
    const advice = 'Nothing has been changed. It is tried again when you load the page again.';
    return htmlAnswer(503, errorPage(503, 'The records store does not answer.', advice));
  }
}

/** The path below the mount; `undefined` for the mount itself without its slash, from which no link would lead below it. */
function placeOf(request: MountedRequest): { path: string | undefined; query: URLSearchParams } {
  const [path = '', query] = (request.url ?? '/').split('?');
  const whole = (request.originalUrl ?? request.url ?? '/').split('?')[0]!;
  const isBare = path === '/' && !whole.endsWith('/');
  return { path: isBare ? undefined : path.slice(1), query: new URLSearchParams(query) };
}

const withSlash = ({ originalUrl, url }: MountedRequest): string =>
  `${(originalUrl ?? url)!.split('?')[0]!.split('/').at(-1)}/`;
