import { afterEach, describe, expect, it } from '@jest/globals';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { ask, clientKey, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { RawConnection, send } from '../support/raw-client.ts';
import { patience_ms, until } from '../support/until.ts';

let simulator: Simulator;
let gateway: GatewayUnderTest;

async function start(server: Readonly<Record<string, number>>): Promise<void> {
  simulator = await startSimulator();
  gateway = await startGateway({ upstream: simulator, server });
}

afterEach(async () => {
  await gateway?.close();
  await simulator?.close();
});

const tokens = (kind: string, source = 'exact'): Promise<number> =>
  gateway.metric('sluice_tokens_total', { kind, source });
const ended = (end_reason: string): Promise<number> =>
  gateway.metric('sluice_requests_total', { end_reason, endpoint: 'chat.completions' });
const settled = (): Promise<void> => until(() => gateway.gateway.inFlight === 0);

describe('a whole reply that takes too long', () => {
  it('gets 524 and is read to its end in the background and billed', async () => {
    await start({ non_stream_timeout_ms: 300 });
    const whole_ms = Math.round(patience_ms(1500, 15_000));
    const reply = await send(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${clientKey}` },
      body: JSON.stringify(ask(`Hello [[sim:ttft=${whole_ms} tokens=30 reasoning_tokens=10]]`)),
    });
    expect({ status: reply.status, reason: reply.reason }).toEqual({
      status: 524,
      reason: 'A Timeout Occurred',
    });
    expect(reply.headers['x-should-retry']).toBe('false');
    expect(reply.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(reply.headers['x-request-id']).toMatch(/^req_/);
    expect(JSON.parse(reply.text)).toEqual({
      error: {
        message:
          'No complete answer within 0.3 seconds. Generation continues server-side and is billed; use "stream": true.',
        type: 'timeout_error',
      },
    });
    await until(() => simulator.stats.open === 1);
    expect(simulator.stats.aborted).toBe(0);
    expect(await tokens('output')).toBe(0);

    await until(() => simulator.stats.completed === 1, 5000 + whole_ms);
    await settled();
    expect(await tokens('output')).toBe(40);
    expect(await tokens('input')).toBeGreaterThan(0);
    expect(await ended('time_limit')).toBe(1);
    expect(
      await gateway.metric('sluice_requests_total', { status: '524', error_type: 'timeout_error' }),
    ).toBe(1);
  });

  it('is timed from the first header, not from the end of the body', async () => {
    await start({ non_stream_timeout_ms: 1000 });
    const body = JSON.stringify(ask('Hello [[sim:ttft=60000]]'));
    const begun_ms = Date.now();
    const connection = new RawConnection(gateway.url);
    connection.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${clientKey}\r\n` +
        `content-length: ${body.length}\r\n\r\n`,
    );
    // biome-ignore lint/plugin: most of the limit.
    await new Promise(resolve => setTimeout(resolve, 700));
    connection.write(body);
    await connection.received(/^HTTP\/1\.1 524 /);
    const took_ms = Date.now() - begun_ms;
    connection.destroy();
    await gateway.gateway.close(0);
    expect(took_ms).toBeGreaterThan(950);
    expect(took_ms).toBeLessThan(patience_ms(1600));
  });

  it('does not apply to streams', async () => {
    await start({ non_stream_timeout_ms: 300 });
    const { status, events } = await gateway.stream(
      ask('Hello [[sim:tokens=20 reasoning_tokens=10 tps=20]]'),
    );
    expect(status).toBe(200);
    expect(events.at(-1)?.data).toBe('[DONE]');
    expect(events.at(-2)?.json).toMatchObject({ usage: { completion_tokens: 30 } });
  });
});
