import { MetricSet } from './metric-factory.ts';

/** Why a TLS handshake failed, by Node's error code; every other is `other`. */
const reasons: Readonly<Record<string, string>> = {
  ECONNRESET: 'closed',
  EPIPE: 'closed',
  ERR_SSL_HTTP_REQUEST: 'plain_http',
  ERR_TLS_HANDSHAKE_TIMEOUT: 'timeout',
  ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE: 'client_certificate',
  ERR_SSL_UNSUPPORTED_PROTOCOL: 'version',
};

/** Certificates and failed handshakes of the sidecar's own listeners, by `server` and `admin`. */
export class ListenerMetrics extends MetricSet {
  readonly #expiry = this.metrics.gauge({
    name: 'sluice_listener_certificate_expiry_timestamp_seconds',
    help: "Unix time at which the TLS certificate of the sidecar's own listener expires.",
    aggregator: 'min',
    labels: ['listener'],
  });
  readonly #failures = this.metrics.counter({
    name: 'sluice_listener_handshake_failures_total',
    help: 'TLS handshakes that failed; reason: closed, timeout, plain_http, client_certificate, version, other.',
    labels: ['listener', 'reason'],
    initial: [...new Set(Object.values(reasons)), 'other'].map(reason => ['server', reason] as const),
  });

  /** Shows the end of a certificate, in Unix milliseconds, until the returned function is called. */
  watchExpiry(listener: string, ends_ms: () => number): () => void {
    return this.#expiry.read(() => ends_ms() / 1000, listener);
  }

  /** Counts a handshake that failed with Node's error `code`. Returns the reason that was counted. */
  handshakeFailed(listener: string, code: string): string {
    const reason = reasons[code] ?? 'other';
    this.#failures.labels(listener, reason).inc();
    return reason;
  }
}
