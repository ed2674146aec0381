import { startSimulator } from '../../../src/simulator/server.ts';
import { startGateway } from '../../support/gateway-under-test.ts';
import { head, startScriptedUpstream, thenClose, whole } from '../../support/scripted-upstream.ts';
import { startTlsProxy } from '../../support/tls-proxy.ts';
import type { ProvokedCase, ProvokedService } from './provoked-case.ts';
import { SteadyRequests } from './steady-requests.ts';

/** A gateway with a provider of second priority, which is checked and gets no request. */
async function withBackup(): Promise<ProvokedService> {
  const [simulator, backup] = [
    await startSimulator({ api_key: null, tokens_per_second: 1000 }),
    await startScriptedUpstream(whole(200, 'well')),
  ];
  const gateway = await startGateway({
    upstream: simulator,
    others: [backup],
    providers: [{}, { health_check: { path: '/health', interval_ms: 200 } }],
  });
  const requests = new SteadyRequests(gateway.post);
  requests.send({ per_second: 4, prompt: 'Hello' });
  return {
    targets: [gateway.adminUrl],
    provoke: () => backup.reply(whole(503, 'ill')),
    heal: () => backup.reply(whole(200, 'well')),
    async close() {
      await requests.stop();
      await gateway.close();
      await simulator.close();
      await backup.close();
    },
  };
}

const inDays = (days: number) => new Date(Date.now() + days * 86_400_000);
const reply = JSON.stringify({
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
});
const headers = { 'content-type': 'application/json', 'content-length': reply.length, connection: 'close' };

/** A gateway before a provider whose certificate ends in a year, then in a day, then in a year again. */
async function withCertificates(): Promise<ProvokedService> {
  // A new connection for every request shows the new certificate.
  const upstream = await startScriptedUpstream(thenClose(head(200, headers), reply));
  const proxy = await startTlsProxy(upstream.url, inDays(365));
  const gateway = await startGateway({ upstream: proxy.url });
  const requests = new SteadyRequests(gateway.post);
  requests.send({ per_second: 4, prompt: 'Hello' });
  return {
    targets: [gateway.adminUrl],
    provoke: () => proxy.renew(inDays(1)),
    heal: () => proxy.renew(inDays(365)),
    async close() {
      await requests.stop();
      await gateway.close();
      proxy.close();
      await upstream.close();
    },
  };
}

/** Cases of providers whose fault clients do not feel. */
export const casesOfProviders: readonly ProvokedCase[] = [
  {
    job: 'backup',
    what: 'the health check of a provider fails that no request is sent to',
    alerts: ['SluiceProviderFailing'],
    never: ['SluiceErrors'],
    start: withBackup,
  },
  {
    job: 'certificate',
    what: "a provider's certificate ends in a day, until it is renewed",
    alerts: ['SluiceCertificateEnds', 'SluiceCertificateEndsSoon'],
    never: ['SluiceErrors'],
    start: withCertificates,
  },
];
