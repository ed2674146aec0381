import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { GatewayConfig } from '../../src/config/schema.ts';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { endServed, serveHere } from '../support/sidecar-here.ts';
import { sidecarConfig } from '../support/sidecar-process.ts';
import { SocketClient, textOf } from '../support/web-socket-client.ts';

let simulator: Simulator;
beforeAll(async () => {
  simulator = await startSimulator();
});
afterAll(() => simulator.close());
afterEach(endServed);

const serve = (sections: Partial<GatewayConfig> = {}) =>
  serveHere(sidecarConfig(simulator.url, { responses: { websocket: true }, ...sections }));

describe('a WebSocket on /v1/responses', () => {
  it('has one event in each message, without the end of the stream', async () => {
    const { url } = await serve();
    const client = await SocketClient.open(url, { headers: { 'x-request-id': 'agent-1' } });
    expect(client.headers['x-request-id']).toBe('agent-1');
    const events = await client.ask({ input: '[[sim:say=Hello there]]' });
    expect(events[0]).toMatchObject({ type: 'response.created', sequence_number: 0 });
    expect(textOf(events)).toBe('Hello there');
    expect(events.at(-1)).toMatchObject({ type: 'response.completed', response: { status: 'completed' } });
  });
});
