import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type Server } from 'node:tls';
import { afterEach, expect, it } from '@jest/globals';
import { buildConnector } from 'undici';
import { CertificateExpiry } from '../../../../../../src/gateway/upstream/http/certificate-expiry.ts';
import { FakeClock } from '../../../../../support/fake-clock.ts';
import { selfSigned } from '../../../../../support/self-signed-certificate.ts';

const [sooner, later] = [new Date('2027-01-01T00:00:00Z'), new Date('2028-01-01T00:00:00Z')];
const opened: Server[] = [];
afterEach(() => {
  for (const server of opened.splice(0)) server.close();
});

/** Returns what connects to a server at `host` whose certificate ends then. */
async function connectTo(host: string, ends: Date, expiry: CertificateExpiry): Promise<() => Promise<void>> {
  const server = createServer(selfSigned(ends), socket => socket.on('error', () => {}).resume());
  opened.push(server);
  server.listen(0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const connect = expiry.watched(buildConnector({ rejectUnauthorized: false }));
  return () =>
    new Promise((resolve, reject) =>
      connect({ hostname: host, host, protocol: 'https:', port: `${port}` }, (error, socket) => {
        if (error) return reject(error);
        socket.destroy();
        resolve();
      }),
    );
}

it('shows the first end among the addresses of a provider, and forgets an address that is gone', async () => {
  const clock = new FakeClock();
  const expiry = new CertificateExpiry(clock);
  expect(expiry.soonest_ms).toBeUndefined();
  const [first, second] = await Promise.all([
    connectTo('127.0.0.1', sooner, expiry),
    connectTo('127.0.0.2', later, expiry),
  ]);
  await first();
  await second();
  expect(expiry.soonest_ms).toBe(sooner.getTime());
  clock.advance(3_599_000);
  await second();
  expect(expiry.soonest_ms).toBe(sooner.getTime());
  clock.advance(1000);
  await second();
  expect(expiry.soonest_ms).toBe(later.getTime());
});
