import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocketServer } from 'ws';
import {
  type ExtensionContext,
  GatewayError,
  type GenerationFormat,
  refusal,
  type UpgradeRequest,
} from '../../src/plugin.ts';
import type { WebSocketLimits } from '../dialects/responses/web-socket-options.ts';
import { type SessionSetup, WebSocketSession } from './web-socket-session.ts';

const look_ms = 500;
/** Keeps the connection known to proxies on the way, which forget those that are silent. */
const ping_ms = 30_000;
/** Time for a client to answer the close, after which the connection is destroyed. */
const close_ms = 1000;
/** Time for connections to end when the gateway closes; extensions have ten seconds. */
const end_ms = 8000;
/** Memory of all connections, as multiples of the largest body: for what has not arrived whole, and for last responses. */
const max_arriving_bodies = 8;
const max_remembered_bodies = 16;

/** Codes of ends that have a series of their own. */
const codes: ReadonlySet<number> = new Set([1000, 1001, 1002, 1003, 1005, 1006, 1007, 1008, 1009, 1013]);

const other_site = 'A page of another site cannot open a WebSocket here.';

/** Whether a browser has sent it for a page of another site, with a cookie by which the application may name its account. */
function isOfOtherSite({ headers: { authorization, origin, host } }: UpgradeRequest['request']): boolean {
  return !authorization && origin !== undefined && URL.parse(origin)?.host !== host;
}

/** All open WebSockets of a gateway. */
export class WebSockets {
  limits: WebSocketLimits | undefined;
  format: GenerationFormat;
  readonly #context: ExtensionContext;
  readonly #server: WebSocketServer;
  readonly #open = new Set<WebSocketSession>();
  readonly #openOf = new Map<string, number>();
  /** Bytes of last responses, of the one that was made longest ago first. */
  readonly #remembered = new Map<WebSocketSession, number>();
  #remembered_bytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #pinged_ms = 0;
  #isDraining = false;
  readonly #metrics;

  constructor(context: ExtensionContext, limits: WebSocketLimits, format: GenerationFormat) {
    this.#context = context;
    this.limits = limits;
    this.format = format;
    const { max_body_bytes: maxPayload } = context.settings.server;
    // Without permessage-deflate, whose bombs are a risk, and whose contexts take 300 KiB for each connection.
    const options = { noServer: true, clientTracking: false, maxPayload, closeTimeout: close_ms };
    this.#server = new WebSocketServer(options);
    this.#metrics = {
      open: context.metrics.gauge({ name: 'open', help: 'Open WebSockets.' }),
      closed: context.metrics.counter({
        name: 'closed_total',
        help: 'WebSockets that have ended, by the code of their close; 1006 is a connection that broke off.',
        labels: ['code'],
      }),
    };
  }

  /** Opens one, or throws a GatewayError. */
  open(upgrade: UpgradeRequest): void {
    const account = upgrade.account_id ?? '';
    const { request, socket, head } = upgrade;
    if (isOfOtherSite(request)) throw new GatewayError('permission_error', 403, other_site);
    this.#expectPlace(account);
    let mistake: Error | undefined;
    const refuse = (error: Error) => void (mistake = error);
    const addHeaders = (lines: string[]) => {
      for (const [name, value] of Object.entries(upgrade.headers)) lines.push(`${name}: ${value}`);
    };
    this.#server.once('wsClientError', refuse).once('headers', addHeaders);
    // Synchronous, as nothing is asked of a hook.
    this.#server.handleUpgrade(request, socket, head, ws => {
      const session = new WebSocketSession(ws, upgrade, this.#setup());
      this.#add(session, account);
      ws.once('close', code => this.#remove(session, account, code));
    });
    this.#server.removeAllListeners('wsClientError').removeAllListeners('headers');
    if (mistake)
      throw refusal('invalid_request', {
        message: `The WebSocket handshake is not valid: ${mistake.message}.`,
      });
  }

  configure(limits: WebSocketLimits | undefined, format: GenerationFormat): void {
    this.limits = limits;
    this.format = format;
    if (!limits) this.#closeIdle();
  }

  drain(): void {
    this.#isDraining = true;
    this.#closeIdle();
  }

  /** Resolves when all have ended, or after 8 s: those whose reply runs for longer end with it. */
  async close(): Promise<void> {
    const until_ms = performance.now() + end_ms;
    while (this.#open.size > 0 && performance.now() < until_ms) await sleep(20);
  }

  #expectPlace(account: string): void {
    const { max_open = 0, max_open_per_account = 0 } = this.limits ?? {};
    const again = { 'retry-after': '5' };
    if (this.#isDraining) throw refusal('server_error', { cause: 'the gateway shuts down' });
    if (this.#open.size >= max_open)
      throw new GatewayError('server_error', 503, 'Too many WebSockets are open.', { headers: again });
    if ((this.#openOf.get(account) ?? 0) >= max_open_per_account) {
      const message = `This account has ${max_open_per_account} WebSockets open, which is its limit; close one.`;
      throw refusal('rate_limited', { message, headers: again });
    }
  }

  #setup(): SessionSetup {
    const { clock, settings } = this.#context;
    const of = this;
    return {
      clock,
      get limits() {
        return settings.server;
      },
      get format() {
        return of.format;
      },
      isDraining: () => this.#isDraining || !this.limits,
      remembered: session => this.#remember(session),
    };
  }

  #add(session: WebSocketSession, account: string): void {
    this.#open.add(session);
    this.#openOf.set(account, (this.#openOf.get(account) ?? 0) + 1);
    this.#metrics.open.set(this.#open.size);
    this.#timer ??= setInterval(() => this.#look(), look_ms).unref();
  }

  #remove(session: WebSocketSession, account: string, code: number): void {
    this.#open.delete(session);
    const left = this.#openOf.get(account)! - 1;
    if (left > 0) this.#openOf.set(account, left);
    else this.#openOf.delete(account);
    this.#metrics.open.set(this.#open.size);
    this.#metrics.closed.labels(codes.has(code) ? String(code) : 'other').inc();
    const { replies, opened_ms } = session;
    const duration_ms = Math.round(this.#context.clock.elapsed_ms() - opened_ms);
    this.#context.log.info({ account: account || undefined, code, replies, duration_ms }, 'websocket closed');
    if (this.#open.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #closeIdle(): void {
    for (const session of this.#open) if (!session.isBusy) session.close(1001, 'shutting down');
  }

  #look(): void {
    const now_ms = this.#context.clock.elapsed_ms();
    const isPing = now_ms - this.#pinged_ms >= ping_ms;
    if (isPing) this.#pinged_ms = now_ms;
    const { idle_ms = 0, max_age_ms = 0 } = this.limits ?? {};
    let arriving_bytes = 0;
    for (const session of this.#open) {
      session.look();
      if (isPing) session.ping();
      if (!session.isBusy && now_ms - session.opened_ms >= max_age_ms) session.retire();
      else if (session.idle_ms >= idle_ms) session.close(1000, 'idle for too long');
      arriving_bytes += session.arriving_bytes;
    }
    const { max_body_bytes } = this.#context.settings.server;
    if (arriving_bytes > max_arriving_bodies * max_body_bytes) this.#closeLargest();
  }

  /** The connection whose message has most bytes and is not whole. */
  #closeLargest(): void {
    let largest: WebSocketSession | undefined;
    for (const session of this.#open)
      if (!largest || session.arriving_bytes > largest.arriving_bytes) largest = session;
    largest?.close(1013, 'messages take too much memory; try again later');
  }

  /** Counts what a session remembers, and lets others forget if all remember too much. */
  #remember(session: WebSocketSession): void {
    this.#remembered_bytes -= this.#remembered.get(session) ?? 0;
    this.#remembered.delete(session);
    const { bytes } = session.last;
    if (bytes > 0) this.#remembered.set(session, bytes);
    this.#remembered_bytes += bytes;
    const max_bytes = max_remembered_bodies * this.#context.settings.server.max_body_bytes;
    for (const [oldest, bytes] of this.#remembered) {
      if (this.#remembered_bytes <= max_bytes) return;
      oldest.last.forget();
      this.#remembered.delete(oldest);
      this.#remembered_bytes -= bytes;
    }
  }
}
