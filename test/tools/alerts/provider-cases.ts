import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startSimulator } from '../../../src/simulator/server.ts';
import { startGateway } from '../../support/gateway-under-test.ts';
import type { ProvokedCase, ProvokedService } from './provoked-case.ts';
import { SteadyRequests } from './steady-requests.ts';

/** A server that only says whether it is healthy. */
async function healthServer() {
  let status = 200;
  const server = createServer((_request, response) => response.writeHead(status).end()).listen(
    0,
    '127.0.0.1',
  );
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    answer: (next: number) => void (status = next),
    close: () => void server.close(),
  };
}

/** A gateway with a provider of second priority, which is checked and gets no request. */
async function withBackup(): Promise<ProvokedService> {
  const [simulator, backup] = [
    await startSimulator({ api_key: null, tokens_per_second: 1000 }),
    await healthServer(),
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
    provoke: () => backup.answer(503),
    heal: () => backup.answer(200),
    async close() {
      await requests.stop();
      await gateway.close();
      await simulator.close();
      backup.close();
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
