import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../../clock.ts';
import type { Log } from '../../../telemetry/log.ts';
import { type CannotServe, type CommandRejected, Unreachable } from '../remote-state.ts';
import { errorOfReply, mayHaveMoved } from './error-reply.ts';
import type { Script } from './lua-script.ts';
import { SilenceWatch } from './silence-watch.ts';

export interface ConnectionOptions {
  /** `redis://` or `rediss://`, with user, password and number of the database. */
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
const load = () => import('@redis/client');
type Library = Awaited<ReturnType<typeof load>>;

const newClient = ({ createClient }: Library, { url, connect_timeout_ms }: ConnectionOptions) =>
  createClient({
    url,
    RESP: 2,
    // A client is used for one connection; a new connection is a new client, without leftover state.
    socket: { reconnectStrategy: false, connectTimeout: connect_timeout_ms },
    disableOfflineQueue: true,
    disableClientInfo: true,
    maintNotifications: 'disabled',
    // One timer for all commands instead of one each.
    commandOptions: { timeout: 0 },
  });
type Client = ReturnType<typeof newClient>;

/**
 * A connection to a Redis server, renewed whenever it ends. Commands that cannot be sent fail at once and are never queued. When a command
 * is not answered in time, it and all behind it fail together, since none would be answered sooner, and the connection is replaced: it may
 * be dead without either end knowing. It is also replaced when the server is no longer the primary: its name may lead to another server by
 * now.
 */
export class RedisConnection {
  /** Number of connections so far: state of one connection may be missing in the next. */
  lives = 0;
  readonly #options: ConnectionOptions;
  readonly #watch: SilenceWatch;
  #library: Library | undefined;
  #client: Client | undefined;
  #running: Promise<void> | undefined;
  readonly #attempted = Promise.withResolvers<void>();
  readonly #closing = new AbortController();
  #ready = false;
  #ended: (() => void) | undefined;
  #why: Error | undefined;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#watch = new SilenceWatch(options.timeout_ms * server_part, waited_ms =>
      this.#end(new Error(`no answer within ${Math.round(waited_ms)} ms`)),
    );
  }

  /** Starts connecting, unless it has. Resolves when the first connection is up or has failed. */
  started(): Promise<void> {
    this.#running ??= this.#live();
    return this.#attempted.promise;
  }

  get ready(): boolean {
    return this.#ready;
  }

  /**
   * Runs a script by its hash, or by its text if the server does not know it yet. Rejects with Unreachable, CannotServe or CommandRejected.
   */
  async run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    const rest = [String(keys.length), ...keys, ...args];
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
    this.#end(new Unreachable('the connection has been closed'));
    await this.#running;
  }

  async #send(command: string[]): Promise<unknown> {
    const client = this.#client;
    if (!client || !this.#ready) throw this.#unreachable();
    const asked = this.#watch.asked();
    try {
      return await client.sendCommand(command);
    } catch (error) {
      if (error instanceof this.#library!.ErrorReply) throw this.#replied(error.message, client);
      // The client's error says only that it was disconnected.
      this.#end(error as Error, client);
      throw this.#unreachable();
    } finally {
      this.#watch.answered(asked);
    }
  }

  #unreachable(): Unreachable {
    return new Unreachable(this.#why?.message ?? 'not connected yet', { cause: this.#why });
  }

  #replied(message: string, client: Client): CannotServe | CommandRejected {
    const error = errorOfReply(message);
    if (mayHaveMoved(message)) this.#end(error, client);
    return error;
  }

  async #live(): Promise<void> {
    const library = await load();
    this.#library = library;
    const { signal } = this.#closing;
    let delay_ms = first_delay_ms;
    while (!signal.aborted) {
      const began_ms = systemClock.elapsed_ms();
      await this.#liveOnce(library);
      const lived_ms = systemClock.elapsed_ms() - began_ms;
      delay_ms = lived_ms > 10 * longest_delay_ms ? first_delay_ms : Math.min(longest_delay_ms, delay_ms * 2);
      const pause_ms = delay_ms * (0.5 + Math.random() / 2);
      await sleep(pause_ms, undefined, { ref: false, signal }).catch(() => {});
    }
    this.#attempted.resolve();
  }

  /** Lasts from connecting to the end of the connection or of the attempt. */
  async #liveOnce(library: Library): Promise<void> {
    const client = newClient(library, this.#options);
    this.#client = client;
    const ended = new Promise<void>(resolve => {
      client.on('error', (error: Error) => this.#end(error, client));
      this.#ended = resolve;
    });
    const timer = setTimeout(
      () => this.#end(new Error(`no connection within ${this.#options.connect_timeout_ms} ms`), client),
      this.#options.connect_timeout_ms,
    );
    try {
      await Promise.race([client.connect(), ended]);
    } catch (error) {
      this.#end(error as Error, client);
    }
    clearTimeout(timer);
    if (this.#client === client) {
      this.lives++;
      this.#ready = true;
    }
    this.#attempted.resolve();
    await ended;
  }

  #end(why: Error, client = this.#client): void {
    if (!client || client !== this.#client) return;
    this.#client = undefined;
    this.#why = why;
    if (this.#ready) this.#options.log.debug({ err: why }, 'the connection to Redis has ended');
    this.#ready = false;
    client.destroy();
    this.#ended?.();
  }
}
