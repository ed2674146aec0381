import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import tls from 'node:tls';
import { startGateway } from '../../support/gateway-under-test.ts';
import { type SelfSigned, selfSigned } from '../../support/self-signed-certificate.ts';
import type { ProvokedCase, ProvokedService } from './provoked-case.ts';
import { SteadyRequests } from './steady-requests.ts';

const day_ms = 86_400_000;
const inDays = (days: number) => selfSigned(new Date(Date.now() + days * day_ms));
const reply = JSON.stringify({
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
});

/** A gateway before a provider whose certificate ends in a year, then in a day, then in a year again. */
async function withCertificates(): Promise<ProvokedService> {
  const [long, short] = [inDays(365), inDays(1)];
  const others = tls.getCACertificates('default');
  // Both have one name, so only one of them can be trusted at a time.
  const trust = ({ cert }: SelfSigned) => tls.setDefaultCACertificates([...others, cert]);
  trust(long);
  const server = createServer(long, (request, response) => {
    // A new connection for every request shows the new certificate.
    const headers = { 'content-type': 'application/json', connection: 'close' };
    request.resume().on('end', () => response.writeHead(200, headers).end(reply));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const gateway = await startGateway({ upstream: `https://127.0.0.1:${port}/v1` });
  const requests = new SteadyRequests(gateway.post);
  requests.send({ per_second: 4, prompt: 'Hello' });
  const show = (certificate: SelfSigned) => {
    trust(certificate);
    server.setSecureContext(certificate);
  };
  return {
    targets: [gateway.adminUrl],
    provoke: () => show(short),
    heal: () => show(long),
    async close() {
      await requests.stop();
      await gateway.close();
      server.close();
    },
  };
}

/** Cases of certificates of providers. */
export const casesOfCertificates: readonly ProvokedCase[] = [
  {
    job: 'certificate',
    what: "a provider's certificate ends in a day, until it is renewed",
    alerts: ['SluiceCertificateEnds', 'SluiceCertificateEndsSoon'],
    never: ['SluiceErrors'],
    start: withCertificates,
  },
];
