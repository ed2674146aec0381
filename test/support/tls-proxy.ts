import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { pipeline } from 'node:stream';
import tls from 'node:tls';
import { selfSigned } from './self-signed-certificate.ts';
import { trustCertificate } from './trusted-certificates.ts';

/** A server by another address. */
export interface TlsProxy {
  readonly url: string;
  close(): void;
}

/** Puts TLS in front of the server at `url`, with a certificate that ends at `ends` and that this process trusts until `close`. */
export async function startTlsProxy(url: string, ends: Date): Promise<TlsProxy> {
  const { hostname, port, pathname } = new URL(url);
  const certificate = selfSigned(ends);
  const distrust = trustCertificate(certificate.cert);
  const server = tls.createServer(certificate, client => {
    const upstream = connect(Number(port), hostname);
    pipeline(client, upstream, () => {});
    pipeline(upstream, client, () => {});
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}${pathname}`,
    close() {
      distrust();
      server.close();
    },
  };
}
