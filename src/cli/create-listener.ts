import type { RequestListener, Server } from 'node:http';
import { Server as TlsServer } from 'node:https';
import type { Gateway } from '../mount/gateway.ts';
import type { ListenerMetrics } from '../telemetry/listener-metrics.ts';
import { createHttpServer, type RefusalFormat } from './http-server.ts';
import { ListenerCertificate } from './listener-certificate.ts';

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
