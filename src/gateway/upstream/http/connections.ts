import { Readable } from 'node:stream';
import { buildConnector, type Dispatcher, Pool } from 'undici';
import type { ProviderConfig } from '../../../common/options.ts';
import type { CertificateExpiry } from './certificate-expiry.ts';
import { type CallOwner, UpstreamCall } from './upstream-call.ts';
import { UpstreamConnection } from './upstream-connection.ts';

/** Requests of more characters are not kept until the end of their reply. */
const large_characters = 256 * 1024;

/** The connections to one server. */
export class Connections {
  readonly #pool: Pool;
  /** Every request of it has a connection of its own. */
  readonly #unkept: Pool;

  constructor({ origin }: URL, config: ProviderConfig, certificates: CertificateExpiry) {
    const options = {
      // Every stream holds a connection, so a cap here would be a cap on streams.
      connections: null,
      pipelining: 1,
      connect: certificates.watched(buildConnector({ timeout: config.connect_timeout_ms })),
      headersTimeout: config.idle_timeout_ms,
      bodyTimeout: config.idle_timeout_ms,
      keepAliveTimeout: 4000,
      factory: (origin: URL, options: object) => new UpstreamConnection(origin, options),
    };
    this.#pool = new Pool(origin, options);
    this.#unkept = new Pool(origin, options);
  }

  get(owner: CallOwner, path: string, headers: Record<string, string>): UpstreamCall {
    return dispatched(this.#pool, owner, { method: 'GET', path, headers });
  }

  /** Sends `body` with these headers, names and values in turn; on a connection that no request has used before if it `isResent`. */
  post(
    owner: CallOwner,
    path: string,
    given: readonly string[],
    body: string,
    isResent: boolean,
  ): UpstreamCall {
    const isLarge = body.length > large_characters;
    const headers = isLarge
      ? [...given, 'content-length', String(Buffer.byteLength(body))]
      : (given as string[]);
    const request = { method: 'POST' as const, path, headers, body: isLarge ? sentOnce(body) : body };
    return isResent
      ? dispatched(this.#unkept, owner, { ...request, reset: true })
      : dispatched(this.#pool, owner, request);
  }

  /** Ends every connection, idle or not. */
  async close(): Promise<void> {
    await Promise.all([this.#pool.destroy(), this.#unkept.destroy()]);
  }
}

function dispatched(pool: Pool, owner: CallOwner, options: Dispatcher.DispatchOptions): UpstreamCall {
  const call = new UpstreamCall(owner);
  try {
    pool.dispatch(options, call);
  } catch (cause) {
    call.cancel(cause instanceof Error ? cause : new Error(String(cause)));
  }
  return call;
}

/** A stream that does not keep the text: undici keeps the body of a request until the reply has ended. */
function sentOnce(text: string): Readable {
  let left: Buffer | null = Buffer.from(text);
  return new Readable({
    read() {
      const bytes = left;
      left = null;
      this.push(bytes);
    },
  });
}
