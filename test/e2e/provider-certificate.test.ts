import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { ask, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { type SelfSigned, selfSigned } from '../support/self-signed-certificate.ts';
import { trustCertificate } from '../support/trusted-certificates.ts';

const ends = { generation: new Date('2027-03-04T05:06:07Z'), renewed: new Date('2027-06-07T08:09:10Z') };
const name = 'sluice_upstream_certificate_expiry_timestamp_seconds';

let server: Server;
let distrust = () => {};
let connections: number;
let gateway: GatewayUnderTest | undefined;
beforeEach(() => {
  connections = 0;
});
afterEach(async () => {
  distrust();
  await gateway?.close();
  gateway = undefined;
  server.closeAllConnections();
  server.close();
});

/** A server that answers everything with JSON, below a certificate that this process trusts. */
async function startTls(certificate: SelfSigned): Promise<string> {
  const reply = {
    choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }],
  };
  server = createServer(certificate, (request, response) => {
    request.resume().on('end', () => {
      response.setHeader('content-type', 'application/json');
      // Without it a second request would find no reason to connect.
      response.setHeader('connection', 'close');
      response.end(JSON.stringify(reply));
    });
  });
  server.on('secureConnection', () => connections++);
  distrust = trustCertificate(certificate.cert);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

function renew(certificate: SelfSigned): void {
  distrust();
  distrust = trustCertificate(certificate.cert);
  server.setSecureContext(certificate);
}

const shown = () => gateway!.metric(name, { sluice_provider: 'upstream' });
const config = { passthrough: [{ path: '/v1/embeddings', provider: 'upstream' }] };

it.each(['/v1/chat/completions', '/v1/embeddings'])(
  'shows when the certificate of a provider expires after a request to %s, without a connection of its own',
  async path => {
    gateway = await startGateway({ upstream: await startTls(selfSigned(ends.generation)), config });
    expect(await gateway.metrics()).not.toContain(`${name}{`);
    expect((await gateway.post(ask('Hello'), { path })).status).toBe(200);
    expect(await shown()).toBe(ends.generation.getTime() / 1000);
    expect(connections).toBe(1);
  },
);

it('shows the certificate that a provider has after a renewal', async () => {
  gateway = await startGateway({ upstream: await startTls(selfSigned(ends.generation)) });
  await gateway.post(ask('Hello'));
  renew(selfSigned(ends.renewed));
  await gateway.post(ask('Hello'));
  expect(await shown()).toBe(ends.renewed.getTime() / 1000);
});

it.each(['/v1/chat/completions', '/v1/embeddings'])(
  'shows that a certificate has expired after a failed request to %s, until it is renewed',
  async path => {
    const past = new Date(Date.now() - 60_000);
    gateway = await startGateway({ upstream: await startTls(selfSigned(past)), config });
    expect((await gateway.post(ask('Hello'), { path })).status).toBe(502);
    const found_s = await shown();
    expect(found_s).toBeGreaterThan(0);
    expect(found_s).toBeLessThanOrEqual(Date.now() / 1000);
    renew(selfSigned(ends.renewed));
    expect((await gateway.post(ask('Hello'), { path })).status).toBe(200);
    expect(await shown()).toBe(ends.renewed.getTime() / 1000);
  },
);

it('sends nothing to a provider whose certificate is not trusted', async () => {
  gateway = await startGateway({ upstream: await startTls(selfSigned(ends.generation)) });
  distrust();
  let requests = 0;
  server.on('request', () => requests++);
  expect(await gateway.post(ask('Hello'))).toMatchObject({ status: 502 });
  expect(requests).toBe(0);
});

it('shows no certificate of a provider without TLS', async () => {
  const url = await startTls(selfSigned(ends.generation));
  gateway = await startGateway({ upstream: url.replace('https:', 'http:') });
  await gateway.post(ask('Hello'));
  expect(await gateway.metrics()).not.toContain(`${name}{`);
});
