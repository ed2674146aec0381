import { afterEach, describe, expect, it } from '@jest/globals';
import { clientKey } from '../support/gateway-under-test.ts';
import { closeHealthy, hostileSetting } from '../support/hostile-setting.ts';
import { send } from '../support/raw-client.ts';
import { whole } from '../support/scripted-upstream.ts';

afterEach(closeHealthy);

const config = { passthrough: [{ path: '/v1/embeddings', provider: 'upstream' }] };
const switching = 'HTTP/1.1 101 Switching Protocols\r\n';

/** Asks for a path that is passed through, whose upstream plays this. */
async function embedded(script: string) {
  const { upstream, gateway } = await hostileSetting({ config }, 2);
  upstream.replyOnce(script);
  const headers = { authorization: `Bearer ${clientKey}`, 'content-type': 'application/json' };
  const request = { method: 'POST', headers, body: '{"input":"x"}' };
  return { ...(await send(`${gateway.url}/v1/embeddings`, request)), upstream };
}

describe('a call that is passed through', () => {
  it.each([
    `${switching}connection: upgrade\r\nupgrade: websocket\r\n\r\n`,
    `${switching}\r\n`,
    `${switching}connection: upgrade\r\nupgrade: h2c\r\n\r\n\x00\x01\x02`,
    `${switching}content-length: 5\r\n\r\nhello`,
  ])('fails at once when its upstream switches protocols unasked: %j', async bytes => {
    const { status, text, upstream } = await embedded(bytes);
    expect([status, JSON.parse(text).error.type]).toEqual([502, 'provider_error']);
    expect(await upstream.requests[0]!.closed).toBe('gateway');
  });

  it.each([
    'HTTP/1.1 100 Continue\r\n\r\n',
    'HTTP/1.1 102 Processing\r\n\r\n',
    'HTTP/1.1 103 Early Hints\r\nlink: </x>; rel=preload\r\n\r\n',
    'HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n',
  ])('skips the interim response %j', async first => {
    expect((await embedded(`${first}${whole(200, '{"data":[]}')}`)).text).toBe('{"data":[]}');
  });
});
