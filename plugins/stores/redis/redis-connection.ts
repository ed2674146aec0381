import { setTimeout as sleep } from 'node:timers/promises';
import { CommandRejected, type Log, missingPackage, Unreachable, within } from '../../../src/plugin.ts';
import { errorOfReply, mayHaveMoved } from './error-reply.ts';
import type { Script } from './lua-script.ts';
import { redisAddressOf } from './redis-address.ts';
import { type Library, type NewClient, type RedisClient, serverClient } from './redis-client.ts';
import type { RedisServer } from './redis-servers.ts';

export interface ConnectionOptions {
  /** As in `stores.state`. */
  readonly url: string;
  /** Time limit for connecting. */
  readonly connect_timeout_ms: number;
  /** Time limit for a command's answer. */
  readonly timeout_ms: number;
  readonly log: Log;
}

/** Share of `timeout_ms` that the server has; the rest is for noticing, and for deciding without it. */
const server_part = 0.9;
const first_delay_ms = 100;
const longest_delay_ms = 1000;

/** Loaded when a store is first used: its 480 modules are a third of what a gateway would load at its start. */
export const loadLibrary = (): Promise<Library> =>
  import('@redis/client').catch(cause => {
    throw new Unreachable(missingPackage('@redis/client', cause), { cause });
  });

/** A client from its attempt to connect until its end. */
interface Life {
  readonly client: RedisClient;
  /** Set while commands can be sent. */
  isReady: boolean;
  /** Ends the client; only the first reason counts. */
  end(why: Error): void;
}

/**
 * A connection to a Redis server, renewed whenever it ends. Commands that cannot be sent fail at once and are never queued. When a command
 * is not answered in time, it and all behind it fail together, since none would be answered sooner, and the connection is replaced: it may
 * be dead without either end knowing. It is also replaced when the server is no longer the primary: its name may lead to another server by
 * now.
 */
export class RedisConnection implements RedisServer {
  readonly #options: ConnectionOptions;
  readonly #newClient: NewClient;
  readonly #attempted = Promise.withResolvers<void>();
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;
  #library: Library | undefined;
  #life: Life | undefined;
  /** Why the last life ended. */
  #why: Error | undefined;

  constructor(
    options: ConnectionOptions,
    newClient: NewClient = serverClient(redisAddressOf(options.url), options.connect_timeout_ms),
  ) {
    this.#options = options;
    this.#newClient = newClient;
  }

  /** True after `close`. */
  get isGone(): boolean {
    return this.#closing.signal.aborted;
  }

  /** Starts connecting, unless it has. Resolves when the first connection is up or has failed. */
  started(): Promise<void> {
    this.#running ??= this.#run();
    return this.#attempted.promise;
  }

  get ready(): boolean {
    return this.#life?.isReady === true;
  }

  /**
   * Runs a script by its hash, or by its text if the server does not know it yet. Rejects with Unreachable, CannotServe or CommandRejected.
   */
  async run(script: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    const rest = [keys.length, ...keys, ...args].map(String);
    try {
      return await this.#send(['EVALSHA', script.sha, ...rest]);
    } catch (error) {
      if (!(error as Error).message.startsWith('NOSCRIPT')) throw error;
      return this.#send(['EVAL', script.text, ...rest]);
    }
  }

  /** Closes the connection for good; pending commands fail. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#life?.end(new Unreachable('the connection has been closed'));
    await this.#running;
  }

  async #send(command: string[]): Promise<unknown> {
    const life = this.#life;
    if (!life?.isReady) throw this.#unreachable();
    const limit_ms = Math.round(this.#options.timeout_ms * server_part);
    let isAnswered = false;
    const judge = () => {
      if (!isAnswered) life.end(new Error(`no answer within ${limit_ms} ms`));
    };
    // Timers run before sockets are read: after a long turn of this process the answer may be there unread.
    const timer = setTimeout(() => setImmediate(judge), limit_ms).unref();
    try {
      return await life.client.send(command);
    } catch (error) {
      if (error instanceof this.#library!.ErrorReply) {
        const reply = errorOfReply(error.message);
        if (mayHaveMoved(error.message)) life.end(reply);
        throw reply;
      }
      if (error instanceof CommandRejected) throw error;
      // The client's error says only that it was disconnected.
      life.end(error as Error);
      throw this.#unreachable();
    } finally {
      isAnswered = true;
      clearTimeout(timer);
    }
  }

  #unreachable(): Unreachable {
    return new Unreachable(this.#why?.message ?? 'not connected yet', { cause: this.#why });
  }

  async #run(): Promise<void> {
    try {
      const library = await loadLibrary();
      this.#library = library;
      await this.#stayConnected(library);
    } catch (error) {
      this.#why = error as Error;
    }
    this.#attempted.resolve();
  }

  async #stayConnected(library: Library): Promise<void> {
    const { signal } = this.#closing;
    let delay_ms = first_delay_ms;
    while (!signal.aborted) {
      const began_ms = performance.now();
      await this.#live(library);
      const lived_ms = performance.now() - began_ms;
      delay_ms = lived_ms > 10 * longest_delay_ms ? first_delay_ms : Math.min(longest_delay_ms, delay_ms * 2);
      const pause_ms = delay_ms * (0.5 + Math.random() / 2);
      await sleep(pause_ms, undefined, { ref: false, signal }).catch(() => {});
    }
  }

  /** Lasts from connecting to the end of the connection or of the attempt. */
  async #live(library: Library): Promise<void> {
    const { connect_timeout_ms, log } = this.#options;
    const ended = Promise.withResolvers<void>();
    const end = (why: Error) => {
      if (this.#life !== life) return;
      this.#life = undefined;
      this.#why = why;
      if (life.isReady) log.debug({ err: why }, 'the connection to Redis has ended');
      life.client.destroy();
      ended.resolve();
    };
    const life: Life = { client: this.#newClient(library, end), isReady: false, end };
    this.#life = life;
    try {
      const late = () => new Error(`no connection within ${connect_timeout_ms} ms`);
      await within(Promise.race([life.client.connect(), ended.promise]), connect_timeout_ms, late);
    } catch (error) {
      life.end(error as Error);
    }
    if (this.#life === life) life.isReady = true;
    this.#attempted.resolve();
    await ended.promise;
  }
}
