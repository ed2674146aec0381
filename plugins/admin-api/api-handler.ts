import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  addressOf,
  discardBody,
  type ExtensionContext,
  type IdempotentRequest,
  openAiErrorBody,
  requestIdOf,
} from '../../src/plugin.ts';
import type { AdminApiOptions } from './admin-api-options.ts';
import { apiError, apiErrorOf } from './api-error.ts';
import { Authentication } from './authentication.ts';
import { matchOf } from './entity-tag.ts';
import { Idempotency } from './idempotency.ts';
import { isAllowed } from './permissions.ts';
import { parsed, readJson } from './read-request.ts';
import type { Reply, Route } from './route.ts';
import { RouteTable } from './route-table.ts';
import { routes } from './routes/index.ts';

/** Bounds for the rest of a body that is not read. */
const linger = { max_body_bytes: 1024 * 1024, body_idle_ms: 1000, body_timeout_ms: 5000 };

const headers = {
  'content-type': 'application/json',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
};

/** Answers requests to the Admin API: who asks, whether the role allows it, and what the route makes of it. */
export class ApiHandler {
  readonly #context: ExtensionContext;
  readonly #authentication: Authentication;
  readonly #idempotency: Idempotency;
  readonly #table = new RouteTable(routes);

  constructor(context: ExtensionContext, { keys }: AdminApiOptions) {
    this.#context = context;
    this.#idempotency = new Idempotency(context);
    this.#authentication = new Authentication(context, keys);
  }

  configure({ keys }: AdminApiOptions): void {
    this.#authentication.configure(keys);
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const id = requestIdOf(request.headers);
    response.once('finish', () => discardBody(request, linger));
    try {
      const { route, reply } = await this.#replyTo(request);
      const { etag, isReplay } = reply;
      response.writeHead(route.status, {
        ...headers,
        'content-type': route.content_type,
        ...(etag !== undefined && { etag }),
        ...(isReplay && { 'idempotent-replayed': 'true' }),
        'x-request-id': id,
      });
      response.end(typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body));
    } catch (thrown) {
      // The client has left.
      if (response.destroyed || (request.destroyed && !request.complete)) return;
      this.#refuse(response, thrown, id);
    }
  }

  async #replyTo(request: IncomingMessage): Promise<{ route: Route; reply: Reply<unknown> }> {
    const { settings } = this.#context;
    const address = addressOf(request, settings.admin.trust_proxy);
    const caller = await this.#authentication.callerOf(request, address);
    const [path = '', query = ''] = (request.url ?? '').slice('/v1'.length).split('?');
    const { route, params } = this.#table.find(request.method ?? '', path);
    if (!isAllowed(caller.role, route.permission)) throw apiError('permission_denied');
    const asked = {
      params: parsed(route.params, params),
      query: parsed(route.query, fieldsOf(query)),
      body: route.body && parsed(route.body, await readJson(request)),
    };
    const checkMatch = matchOf(request, route);
    const act = (once?: IdempotentRequest) => {
      const at_ms = this.#context.clock.epoch_ms();
      const operator = { actor: `api:${caller.name}`, address, at_ms, once };
      return route.handler({ ...asked, caller, context: this.#context, operator, checkMatch } as never);
    };
    const content = [route.method, path, asked.query, asked.body];
    const reply = await (route.once
      ? this.#idempotency.answer({ incoming: request, caller, content }, act)
      : act());
    // This instance follows at once.
    if (route.method !== 'GET') await this.#context.records.refresh();
    return { route, reply };
  }

  #refuse(response: ServerResponse, thrown: unknown, id: string): void {
    const error = apiErrorOf(thrown, this.#context.log.child({ request_id: id }));
    error.openaiFields = true;
    response.writeHead(error.status, { ...headers, ...error.headers, 'x-request-id': id });
    response.end(openAiErrorBody(error));
  }
}

/** The fields of a query; a name that is repeated has a list, which no schema takes that wants one. */
function fieldsOf(query: string): Record<string, string | string[]> {
  const given = new URLSearchParams(query);
  return Object.fromEntries(
    [...new Set(given.keys())].map(name => {
      const all = given.getAll(name);
      return [name, all.length === 1 ? all[0]! : all];
    }),
  );
}
