import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { clientKey } from '../support/gateway-under-test.ts';
import { closeHealthy, expectRefusal, hostileSetting } from '../support/hostile-setting.ts';
import { RawConnection } from '../support/raw-client.ts';
import {
  chunk,
  head,
  lastChunk,
  pieces,
  streamHead,
  thenClose,
  thenReset,
  whole,
} from '../support/scripted-upstream.ts';
import { until } from '../support/until.ts';

const config = { passthrough: [{ path: '/v1/audio/*', methods: ['POST' as const], provider: 'upstream' }] };
const path = '/v1/audio/speech';

afterEach(closeHealthy);

describe('a reply that is passed through', () => {
  it('keeps its bytes and the headers that describe them, and loses those that describe the server', async () => {
    const { gateway, upstream } = await hostileSetting({ config }, 2);
    const bytes = Buffer.from([0, 255, 10, 13, 0, 128]);
    upstream.replyOnce(
      whole(200, bytes, {
        'content-type': 'audio/mpeg',
        'content-disposition': 'attachment; filename="a.mp3"',
        etag: '"1"',
        server: 'engine/1.2',
        'set-cookie': 'a=b',
        'x-ratelimit-remaining-requests': '1',
        'x-request-id': 'of-the-upstream',
        via: '1.1 inner',
      }),
    );
    const response = await gateway.post('{}', { path });
    expect(Buffer.from(await response.arrayBuffer())).toEqual(bytes);
    const { connection: _, 'keep-alive': __, date: ___, ...headers } = Object.fromEntries(response.headers);
    expect(headers).toEqual({
      'content-type': 'audio/mpeg',
      'content-length': '6',
      'content-disposition': 'attachment; filename="a.mp3"',
      etag: '"1"',
      'x-request-id': expect.stringMatching(/^req_/),
    });
  });

  it('arrives piece by piece when it is a stream', async () => {
    const { gateway, upstream } = await hostileSetting({ config }, 2);
    upstream.replyOnce(async socket => {
      socket.write(streamHead());
      socket.write(chunk('data: 1\n\n'));
      await until(() => seen.includes('data: 1'));
      socket.write(chunk('data: 2\n\n') + lastChunk);
    });
    let seen = '';
    const response = await gateway.post('{}', { path });
    expect(response.headers.get('cache-control')).toBe('no-cache, no-transform');
    for await (const part of response.body!.pipeThrough(new TextDecoderStream())) seen += part;
    expect(seen).toBe('data: 1\n\ndata: 2\n\n');
  });

  it.each([
    [400, { error: { message: 'no such voice' } }, 400, 'invalid_request_error', 'no such voice'],
    [401, 'Unauthorized', 400, 'configuration_error', undefined],
    [404, { detail: 'Not Found' }, 404, 'invalid_request_error', 'The upstream provider has nothing there.'],
    [302, '', 502, 'provider_error', undefined],
    [429, {}, 502, 'provider_error', undefined],
    [500, '<html>boom at http://10.0.0.1/</html>', 502, 'provider_error', undefined],
  ] as const)(
    'becomes the error envelope when its status is %i',
    async (status, body, expected, type, message) => {
      const { gateway, upstream } = await hostileSetting({ config }, 2);
      upstream.replyOnce(
        whole(status, body, { location: 'http://127.0.0.1/elsewhere', 'set-cookie': 'a=b' }),
      );
      const response = await gateway.post('{}', { path });
      expect([response.headers.get('location'), response.headers.get('set-cookie')]).toEqual([null, null]);
      await expectRefusal(response, expected, type, message);
    },
  );
});

describe('an upstream that fails while its reply is passed through', () => {
  it('causes a 502 when it closes, resets or stays silent before it replies', async () => {
    const { gateway, upstream } = await hostileSetting({ config, provider: { idle_timeout_ms: 300 } }, 2);
    for (const script of [thenClose(), thenReset(), pieces([])]) {
      upstream.replyOnce(script);
      await expectRefusal(await gateway.post('{}', { path }), 502, 'provider_error');
    }
    expect(await gateway.metric('sluice_upstream_errors_total', { kind: 'unreachable' })).toBe(2);
    expect(await gateway.metric('sluice_upstream_errors_total', { kind: 'timeout' })).toBe(1);
  });

  it('never leaves a reply that looks complete when it resets or stalls in its middle', async () => {
    const { gateway, upstream } = await hostileSetting({ config, provider: { idle_timeout_ms: 300 } }, 2);
    const starts = [head(200, { 'content-length': 100 }), `${streamHead()}${chunk('abc')}`];
    for (const script of [...starts.map(start => thenReset(start)), pieces([streamHead(), chunk('abc')])]) {
      upstream.replyOnce(script);
      await expect(gateway.post('{}', { path }).then(response => response.text())).rejects.toThrow();
    }
    const labels = { endpoint: 'passthrough', end_reason: 'upstream_failed' };
    await until(async () => (await gateway.metric('sluice_requests_total', labels)) === 3);
  });

  it('keeps its error status when it fails in the middle of an error', async () => {
    const { gateway, upstream } = await hostileSetting({ config }, 2);
    upstream.replyOnce(thenReset(`${head(500, { 'content-length': 100 })}{"err`));
    await expectRefusal(await gateway.post('{}', { path }), 502, 'provider_error');
  });
});

describe('a client that leaves while a reply is passed through', () => {
  it.each(['before the reply', 'in mid-reply'])('closes the upstream connection too: %s', async when => {
    const { gateway, upstream } = await hostileSetting({ config }, 2);
    upstream.replyOnce(when === 'in mid-reply' ? pieces([streamHead(), chunk('abc')]) : () => {});
    const client = new RawConnection(gateway.url);
    client.write(
      `POST ${path} HTTP/1.1\r\nhost: g\r\nauthorization: Bearer ${clientKey}\r\ncontent-length: 2\r\n\r\n{}`,
    );
    await until(
      () => upstream.requests.length === 1 && (when !== 'in mid-reply' || client.text.includes('abc')),
    );
    client.socket.destroy();
    expect(await upstream.requests[0]!.closed).toBe('gateway');
    await until(
      async () => (await gateway.metric('sluice_requests_total', { end_reason: 'client_gone' })) === 1,
    );
  });

  it('is cut off when it stays connected but reads nothing', async () => {
    const { gateway, upstream } = await hostileSetting({ config, server: { slow_client_ms: 300 } }, 2);
    upstream.replyOnce(async socket => {
      socket.write(streamHead());
      const block = chunk(Buffer.alloc(64 * 1024, 'x'));
      while (!socket.destroyed) {
        if (!socket.write(block))
          await new Promise(resolve => socket.once('drain', resolve).once('close', resolve));
        await sleep(0);
      }
    });
    const client = new RawConnection(gateway.url);
    client.write(
      `POST ${path} HTTP/1.1\r\nhost: g\r\nauthorization: Bearer ${clientKey}\r\ncontent-length: 2\r\n\r\n{}`,
    );
    client.socket.pause();
    await until(
      async () => (await gateway.metric('sluice_requests_total', { end_reason: 'slow_client' })) === 1,
    );
    expect(await upstream.requests[0]!.closed).toBe('gateway');
    client.socket.destroy();
  });
});
