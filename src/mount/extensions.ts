import type { IncomingMessage, ServerResponse } from 'node:http';
import { within } from '../common/within.ts';
import type { RequestHandler } from '../gateway/exchange/stage-plan.ts';
import { discardBody } from '../gateway/inbound/discard-body.ts';
import {
  type ExtensionContext,
  type ExtensionDefinition,
  type OpenExtension,
  openExtension,
} from '../records/define-extension.ts';
import type { Log } from '../telemetry/log.ts';

/** Bounds for the rest of a body that no extension reads. */
const linger = { max_body_bytes: 1024 * 1024, body_idle_ms: 1000, body_timeout_ms: 5000 };

const absent: RequestHandler = (_request, _response, next) => next();

/** Time for an extension to open, and to close. */
const patience_ms = 10_000;

/** An extension whose faults are its own: they are in the log, and concern no request but its own. */
class Running {
  readonly name: string;
  readonly section: string | undefined;
  readonly admin: RequestHandler | undefined;
  readonly public: RequestHandler | undefined;
  readonly #opened: OpenExtension;
  readonly #log: Log;

  constructor({ name, section }: ExtensionDefinition, opened: OpenExtension, log: Log) {
    this.name = name;
    this.section = section;
    this.#opened = opened;
    this.#log = log;
    this.admin = opened.admin && this.#guarded((...given) => opened.admin!(...given));
    this.public = opened.public && this.#guarded((...given) => opened.public!(...given));
  }

  /** Where `public` is. */
  get publicPath(): string | undefined {
    const own = () => (this.#opened.publicPath ? this.#opened.publicPath() : `/${this.name}`);
    return this.public && this.#tried('publicPath', own);
  }

  /** Its `upgrade`, if that is at `path`. */
  upgradeAt(path: string): OpenExtension['upgrade'] {
    const opened = this.#opened;
    if (!opened.upgrade || this.#tried('upgradePath', () => opened.upgradePath?.()) !== path)
      return undefined;
    return upgrade => opened.upgrade!(upgrade);
  }

  configure(options: unknown): void {
    this.#tried('configure', () => this.#opened.configure?.(options));
  }

  drain(): void {
    this.#tried('drain', () => this.#opened.drain?.());
  }

  /** Rejects if it fails, or takes too long. */
  async close(): Promise<void> {
    const late = () => new Error(`the extension ${this.name} did not close within ${patience_ms} ms`);
    await within(Promise.resolve(this.#opened.close?.()), patience_ms, late);
  }

  #tried<T>(what: string, act: () => T): T | undefined {
    try {
      return act();
    } catch (err) {
      this.#log.error({ err, part: what }, 'an extension failed');
      return undefined;
    }
  }

  /** The handler, which may throw or reject as well: its request is answered 500, or cut off where a reply has begun. */
  #guarded(handler: RequestHandler): RequestHandler {
    return (request, response, next) => {
      const failed = (err: unknown) => {
        this.#log.error({ err, part: 'handler' }, 'an extension failed');
        if (response.headersSent) response.destroy();
        else response.writeHead(500, { 'content-type': 'text/plain' }).end('internal error\n');
      };
      try {
        Promise.resolve(handler(request, response, next) as unknown).catch(failed);
      } catch (thrown) {
        failed(thrown);
      }
    };
  }
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
        const { name, section } = definition;
        const context = contextOf(name);
        const late = () => new Error(`the extension ${name} did not open within ${patience_ms} ms`);
        const opening = openExtension(definition, context, optionsOf(section));
        running.push(new Running(definition, await within(opening, patience_ms, late), context.log));
      }
    } catch (thrown) {
      await new Extensions(running).close();
      throw thrown;
    }
    return new Extensions(running);
  }

  /** Handler of the extension `name` for one listener; calls `next` where there is none. */
  handlerOf(name: string, listener: 'admin' | 'public'): RequestHandler {
    return this.#running.find(one => one.name === name)?.[listener] ?? absent;
  }

  /** Serves a request to the admin listener; false if it is below no extension. */
  serveAdmin(request: IncomingMessage, response: ServerResponse, next: () => void): boolean {
    return this.#running.some(({ name, admin }) => {
      if (!admin || !mountAt(`/${name}`, request)) return false;
      admin(request, response, next);
      return true;
    });
  }

  /** The same of a listener for clients. */
  servePublic(request: IncomingMessage, response: ServerResponse, next: () => void): boolean {
    return this.#running.some(one => {
      const path = one.publicPath;
      if (path === undefined || !mountAt(path, request)) return false;
      response.once('finish', () => discardBody(request, linger));
      one.public!(request, response, next);
      return true;
    });
  }

  /** What switches protocols at `path`, if anything does. */
  upgradeAt(path: string): OpenExtension['upgrade'] {
    for (const one of this.#running) {
      const upgrade = one.upgradeAt(path);
      if (upgrade) return upgrade;
    }
    return undefined;
  }

  /** Follows a configuration. */
  configure(optionsOf: (section: string | undefined) => unknown): void {
    for (const one of this.#running) one.configure(optionsOf(one.section));
  }

  drain(): void {
    for (const one of this.#running) one.drain();
  }

  async close(): Promise<void> {
    const ends = await Promise.allSettled(this.#running.map(one => one.close()));
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }
}

/**
 * Sets `url`, `originalUrl` and `baseUrl` as Express does for a handler that is mounted at `path`. False for a request that is not for it,
 * which stays as it is.
 */
function mountAt(path: string, request: IncomingMessage): boolean {
  const { url = '/' } = request;
  if (!url.startsWith(path) || !['/', '?', undefined].includes(url[path.length])) return false;
  const below = url.slice(path.length);
  Object.assign(request, {
    url: below.startsWith('/') ? below : `/${below}`,
    originalUrl: url,
    baseUrl: path,
  });
  return true;
}
