import type { AddressInfo, Socket } from 'node:net';
import { createServer } from 'node:net';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { ask, clientKey } from '../support/gateway-under-test.ts';
import { runSidecar, sidecarConfig, startSidecar } from '../support/sidecar-process.ts';

let simulator: Simulator;
/** Accepts connections, and never answers. */
const connections: Socket[] = [];
const silent = createServer(socket => void connections.push(socket.on('error', () => {})));

beforeAll(async () => {
  simulator = await startSimulator({ api_key: null });
  await new Promise<void>(resolve => silent.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  for (const socket of connections) socket.destroy();
  silent.close();
  await simulator.close();
});

const silentUrl = () => `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;

/** Serves one request, and returns what SIGTERM comes to: the exit code, and whether it took the 5 s at most that the last spans have. */
async function stoppedWith(endpoint: string, protocol: string) {
  const sidecar = await startSidecar(sidecarConfig(simulator.url), {
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
  });
  const response = await fetch(`${sidecar.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${clientKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(ask('Hello.')),
  });
  await response.text();
  const begun_ms = performance.now();
  const code = await sidecar.stop();
  // The rest is for a busy machine: the exporters alone would go on for half a minute.
  return [response.status, code, performance.now() - begun_ms < 9000];
}

it('answers requests, and ends in time with 0, when its collector refuses connections or never answers', async () => {
  const stopped = await Promise.all([
    stoppedWith('http://127.0.0.1:9', 'http/protobuf'),
    stoppedWith(silentUrl(), 'http/protobuf'),
    stoppedWith(silentUrl(), 'grpc'),
  ]);
  expect(stopped).toEqual(stopped.map(() => [200, 0, true]));
  expect(connections.length).toBeGreaterThanOrEqual(2);
});

it('does not start with variables that would not do what they say, and names each', async () => {
  const { code, stdout, stderr } = await runSidecar(['--port', '0', '--admin-port', '0'], {
    OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318',
    OTEL_TRACES_SAMPLER: 'sometimes',
  });
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr.trim().split('\n')).toEqual([
    expect.stringMatching(/^OTEL_TRACES_SAMPLER must be one of always_on, .*; it is 'sometimes'$/),
    expect.stringMatching(/^OTEL_EXPORTER_OTLP_ENDPOINT must be a URL .*; it is 'collector:4318'$/),
  ]);
});

it.each([1, 2])(
  'warns once of exporters that it does not have, and serves, with %i processes',
  async workers => {
    const config = sidecarConfig('http://127.0.0.1:9', { server: { port: 0, workers } });
    const sidecar = await startSidecar(config, { OTEL_METRICS_EXPORTER: 'otlp', OTEL_LOGS_EXPORTER: 'otlp' });
    await sidecar.stop();
    const warned = sidecar.output().match(/"level":40,.*"why":"OTEL_\w+ is 'otlp', but/g);
    expect(warned).toHaveLength(2);
  },
);
