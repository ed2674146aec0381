import { connect } from 'node:net';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from '@jest/globals';
import { ask, clientKey } from '../support/gateway-under-test.ts';
import {
  closeHealthy,
  expectRefusal,
  expectWholeStream,
  finished,
  hostileSetting,
  said,
} from '../support/hostile-setting.ts';
import { events, streamed } from '../support/scripted-upstream.ts';
import { until } from '../support/until.ts';

afterEach(closeHealthy);

const content = 'Grüße, 世界 👋';
const plain = events(said('Grüße'), said(', 世界 👋'), finished(), '[DONE]');

describe('a compressed event stream despite accept-encoding: identity', () => {
  it('is decompressed', async () => {
    const { upstream, stream } = await hostileSetting();
    upstream.reply(streamed(gzipSync(plain), { 'content-encoding': 'gzip' }));
    expectWholeStream(await stream(), content);
    expect(upstream.last.headers['accept-encoding']).toBe('identity');
  });

  it('causes a 502 when its compressed bytes are truncated', async () => {
    const { upstream, send } = await hostileSetting();
    const bytes = gzipSync(plain);
    upstream.reply(streamed(bytes.subarray(0, bytes.length / 4), { 'content-encoding': 'gzip' }));
    await expectRefusal(await send(true), 502, 'provider_error');
  });

  it('causes a 502 when it is not compressed at all', async () => {
    const { upstream, send } = await hostileSetting();
    upstream.reply(streamed(plain, { 'content-encoding': 'gzip' }));
    await expectRefusal(await send(true), 502, 'provider_error');
  });

  it('causes no busy loop while a slow client is not reading', async () => {
    const { upstream, gateway } = await hostileSetting();
    const many = Array.from({ length: 3000 }, () => said('x'.repeat(10_000)));
    upstream.reply(streamed(gzipSync(events(...many, finished(), '[DONE]')), { 'content-encoding': 'gzip' }));
    const body = JSON.stringify(ask('Hello?', { stream: true }));
    const { hostname, port } = new URL(gateway.url);
    const client = connect(Number(port), hostname).pause();
    client.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${clientKey}\r\n` +
        `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
    await until(() => upstream.requests.length === 1);
    // What fits between them is written first, which takes its time on a busy machine; then nothing moves.
    let utilization = 1;
    for (let tries = 0; tries < 40 && utilization >= 0.5; tries++) {
      const before = performance.eventLoopUtilization();
      await sleep(500);
      utilization = performance.eventLoopUtilization(before).utilization;
    }
    expect(utilization).toBeLessThan(0.5);
    expect(gateway.gateway.inFlight).toBe(1);
    client.destroy();
    await until(() => gateway.gateway.inFlight === 0);
  });
});
