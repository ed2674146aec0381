import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { clientKey, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { RawConnection } from '../support/raw-client.ts';
import { type ScriptedUpstream, startScriptedUpstream, whole } from '../support/scripted-upstream.ts';

const config = { passthrough: [{ path: '/v1/files/*', methods: ['GET' as const], provider: 'upstream' }] };

/** What a client writes as its request target, and what reaches the upstream if anything does. */
const targets: readonly [target: string, reaches: string | undefined][] = [
  ['/v1/files/a', '/v1/files/a'],
  ['/v1/files/a/content?x=1&y=/../z', '/v1/files/a/content?x=1&y=/../z'],
  ['/v1/files/%C3%A9%20b', '/v1/files/%C3%A9%20b'],
  ['http://elsewhere.example/v1/files/a', '/v1/files/a'],
  ['/v1/files/..', undefined],
  ['/v1/files/../models', undefined],
  ['/v1/files//a', undefined],
  ['//v1/files/a', undefined],
  ['/v1/files/%2e%2e/admin', undefined],
  ['/v1/files/%252e%252e/admin', undefined],
  ['/v1/files/a%2f..%2fadmin', undefined],
  ['/v1/files/..;/admin', undefined],
  ['/v1/files/%c0%ae%c0%ae/admin', undefined],
  ['/v1/files/%ef%bc%8e%ef%bc%8e/admin', undefined],
  ['/v1/files/%2', undefined],
  ['/v1/files/..\\admin', undefined],
  ['/v1/files/a%0d%0aX-Evil:1', undefined],
  ['/v1/files/a#b', undefined],
  ['/v1/files/', undefined],
  ['/v1/filesystem/a', undefined],
];

let gateway: GatewayUnderTest;
let upstream: ScriptedUpstream;

beforeAll(async () => {
  upstream = await startScriptedUpstream(whole(200, '{}'));
  gateway = await startGateway({ upstream, config });
});

afterAll(async () => {
  await gateway?.close();
  await upstream?.close();
});

it.each(targets)(
  'a passed-through path reaches the provider as expected or gets 404 or 400: %s',
  async (target, reaches) => {
    const before = upstream.requests.length;
    const client = new RawConnection(gateway.url);
    client.write(
      `GET ${target} HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${clientKey}\r\nconnection: close\r\n\r\n`,
    );
    await client.closed;
    expect(upstream.requests.slice(before).map(({ path }) => path)).toEqual(
      reaches === undefined ? [] : [reaches],
    );
    expect(client.text).toMatch(reaches === undefined ? /^HTTP\/1.1 (404|400) / : /^HTTP\/1.1 200 /);
  },
);
