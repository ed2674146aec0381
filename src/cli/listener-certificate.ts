import type { RequestListener, Server } from 'node:http';
import { Server as TlsServer } from 'node:https';
import type { TLSSocket } from 'node:tls';
import { day_ms } from '../common/durations.ts';
import { watchFiles } from '../common/watch-files.ts';
import {
  type LoadedCertificate,
  readCertificate,
  type TlsConfig,
  timeLeft,
} from '../config/certificate-files.ts';
import type { Gateway } from '../mount/gateway.ts';
import type { ListenerMetrics } from '../telemetry/listener-metrics.ts';
import type { Log } from '../telemetry/log.ts';
import { createHttpServer, type RefusalFormat } from './http-server.ts';

/** A certificate and its key may be replaced one after the other: a pair that does not fit is read once more after this time. */
const retry_ms = 2000;
/** Time between two warnings of a certificate that ends soon. */
const remind_ms = day_ms;
/** Longest time of a handshake; Node's default is two minutes. */
const handshake_ms = 10_000;

/** The certificate of a listener, read again when its files change. Connections that are open keep the one they began with. */
class ListenerCertificate {
  readonly #listener: 'server' | 'admin';
  readonly #files: TlsConfig;
  readonly #log: () => Log;
  readonly #ends: (() => void)[];
  #current: LoadedCertificate;
  #server: TlsServer | undefined;
  #retry: NodeJS.Timeout | undefined;

  /** Throws a CertificateProblem for files that cannot be used. */
  constructor(listener: 'server' | 'admin', files: TlsConfig, metrics: ListenerMetrics, log: () => Log) {
    this.#listener = listener;
    this.#files = files;
    this.#log = log;
    const unwatch = watchFiles([files.cert_file, files.key_file, files.client_ca_file ?? []].flat(), () =>
      this.#read(),
    );
    try {
      this.#current = readCertificate(files);
    } catch (thrown) {
      unwatch();
      throw thrown;
    }
    const reminder = setInterval(() => this.#warnOfExpiry(), remind_ms).unref();
    this.#ends = [
      unwatch,
      metrics.watchExpiry(listener, () => this.#current.ends_ms),
      () => clearInterval(reminder),
      () => clearTimeout(this.#retry),
    ];
  }

  /** Options of a TLS server with this certificate. */
  get options() {
    const { cert, key, ca } = this.#current;
    const { min_version: minVersion } = this.#files;
    const asks = ca !== undefined;
    const handshakeTimeout = handshake_ms;
    return { cert, key, ca, minVersion, requestCert: asks, rejectUnauthorized: asks, handshakeTimeout };
  }

  /** Gives `server` every later certificate, and counts its failed handshakes. */
  follow(server: TlsServer, metrics: ListenerMetrics): void {
    this.#server = server;
    server.on('tlsClientError', ({ code = '' }: NodeJS.ErrnoException, { remoteAddress }: TLSSocket) => {
      const reason = metrics.handshakeFailed(this.#listener, code);
      const fields = { listener: this.#listener, reason, code, remote_address: remoteAddress };
      this.#log().debug(fields, 'TLS handshake failed');
    });
  }

  /** Ends the watch of the files. */
  close(): void {
    for (const end of this.#ends) end();
  }

  #read(isRetry = false): void {
    clearTimeout(this.#retry);
    try {
      this.#use(readCertificate(this.#files));
    } catch (err) {
      if (isRetry)
        return this.#log().error(
          { err, listener: this.#listener },
          'failed to read the new certificate; the old one stays in use',
        );
      this.#retry = setTimeout(() => this.#read(true), retry_ms).unref();
    }
  }

  #use(next: LoadedCertificate): void {
    const { cert, key, ca, ends_ms } = this.#current;
    if (next.cert === cert && next.key === key && next.ca === ca) return;
    const now_ms = Date.now();
    if (next.ends_ms <= now_ms && ends_ms > now_ms)
      throw new Error(`the new certificate expired at ${new Date(next.ends_ms).toISOString()}`);
    this.#current = next;
    this.#server?.setSecureContext(this.options);
    const expires = new Date(next.ends_ms).toISOString();
    this.#log().info({ listener: this.#listener, expires }, 'certificate reloaded');
    this.#warnOfExpiry();
  }

  #warnOfExpiry(): void {
    const fields = { listener: this.#listener, expires: new Date(this.#current.ends_ms).toISOString() };
    const left = timeLeft(this.#current.ends_ms, Date.now());
    if (left === 'none') this.#log().error(fields, 'the certificate of this listener has expired');
    if (left === 'little') this.#log().warn(fields, 'the certificate of this listener expires soon');
  }
}

/** Creates the server of a section of the configuration: HTTPS if it has `tls`, with a certificate that follows its files. */
export function createListener(
  gateway: Gateway,
  section: 'server' | 'admin',
  handler: RequestListener,
  { format, metrics }: { readonly format: RefusalFormat; readonly metrics: ListenerMetrics },
): Server {
  const { tls } = gateway.settings[section];
  if (!tls) return createHttpServer(handler, format);
  const certificate = new ListenerCertificate(section, tls, metrics, () => gateway.log);
  const server = createHttpServer(handler, format, certificate.options);
  if (server instanceof TlsServer) certificate.follow(server, metrics);
  return server.once('close', () => certificate.close());
}
