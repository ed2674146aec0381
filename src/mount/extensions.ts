import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestHandler } from '../gateway/exchange/stage-plan.ts';
import { discardBody } from '../gateway/inbound/discard-body.ts';
import {
  type ExtensionContext,
  type ExtensionDefinition,
  type OpenExtension,
  openExtension,
} from '../records/define-extension.ts';
import { mountAt } from './mount-at.ts';

/** Bounds for the rest of a body that no extension reads. */
const linger = { max_body_bytes: 1024 * 1024, body_idle_ms: 1000, body_timeout_ms: 5000 };

const absent: RequestHandler = (_request, _response, next) => next();

interface Running extends OpenExtension {
  readonly definition: ExtensionDefinition;
  options: unknown;
}

/** The extensions of a gateway, in their order. */
export class Extensions {
  readonly #running: readonly Running[];

  private constructor(running: readonly Running[]) {
    this.#running = running;
  }

  /** Opens all of them, or none. `optionsOf` has the options of each section. */
  static async open(
    definitions: readonly ExtensionDefinition[],
    contextOf: (name: string) => ExtensionContext,
    optionsOf: (section: string | undefined) => unknown,
  ): Promise<Extensions> {
    const running: Running[] = [];
    try {
      for (const definition of definitions) {
        const options = optionsOf(definition.section);
        const opened = await openExtension(definition, contextOf(definition.name), options);
        running.push({ ...opened, definition, options });
      }
    } catch (thrown) {
      await new Extensions(running).close();
      throw thrown;
    }
    return new Extensions(running);
  }

  /** Handler of the extension `name` for one listener; calls `next` where there is none. */
  handlerOf(name: string, listener: 'admin' | 'public'): RequestHandler {
    return this.#running.find(({ definition }) => definition.name === name)?.[listener] ?? absent;
  }

  /** Serves a request to the admin listener; false if it is below no extension. */
  serveAdmin(request: IncomingMessage, response: ServerResponse, next: () => void): boolean {
    return this.#running.some(({ definition, admin }) => {
      if (!admin || !mountAt(`/${definition.name}`, request)) return false;
      admin(request, response, next);
      return true;
    });
  }

  /** The same of a listener for clients. */
  servePublic(request: IncomingMessage, response: ServerResponse, next: () => void): boolean {
    return this.#running.some(({ definition, public: serve, publicPath }) => {
      const path = publicPath ? publicPath() : `/${definition.name}`;
      if (!serve || path === undefined || !mountAt(path, request)) return false;
      response.once('finish', () => discardBody(request, linger));
      serve(request, response, next);
      return true;
    });
  }

  /** Follows a configuration. */
  configure(optionsOf: (section: string | undefined) => unknown): void {
    for (const one of this.#running) {
      const options = optionsOf(one.definition.section);
      one.configure?.(options);
      one.options = options;
    }
  }

  drain(): void {
    for (const { drain } of this.#running) drain?.();
  }

  async close(): Promise<void> {
    const ends = await Promise.allSettled(this.#running.map(async ({ close }) => close?.()));
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }
}
