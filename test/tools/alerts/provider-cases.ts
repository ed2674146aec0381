import { startSimulator } from '../../../src/simulator/server.ts';
import { startGateway } from '../../support/gateway-under-test.ts';
import { startScriptedUpstream, whole } from '../../support/scripted-upstream.ts';
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

/** Cases of providers whose fault clients do not feel. */
export const casesOfProviders: readonly ProvokedCase[] = [
  {
    job: 'backup',
    what: 'the health check of a provider fails that no request is sent to',
    alerts: ['SluiceProviderFailing'],
    never: ['SluiceErrors'],
    start: withBackup,
  },
];
