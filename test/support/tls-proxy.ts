import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { pipeline } from 'node:stream';
import tls from 'node:tls';
import { selfSigned } from './self-signed-certificate.ts';
import { trustCertificate } from './trusted-certificates.ts';

/** A server by another address. */
export interface TlsProxy {
  readonly url: string;
  /** Shows new connections another certificate, which ends at `ends`. */
  renew(ends: Date): void;
  close(): void;
}

/** Puts TLS in front of the server at `url`, with a certificate that ends at `ends` and that this process trusts until `close`. */
export async function startTlsProxy(url: string, ends: Date): Promise<TlsProxy> {
  const { hostname, port, pathname } = new URL(url);
  const distrust: (() => void)[] = [];
  const trusted = (until: Date) => {
    const certificate = selfSigned(until);
    distrust.push(trustCertificate(certificate.cert));
    return certificate;
  };
  const server = tls.createServer(trusted(ends), client => {
    const upstream = connect(Number(port), hostname);
    pipeline(client, upstream, () => {});
    pipeline(upstream, client, () => {});
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}${pathname}`,
    renew: until => server.setSecureContext(trusted(until)),
    close() {
      for (const each of distrust) each();
      server.close();
    },
  };
}
