import { afterEach, describe, expect, it } from '@jest/globals';
import { clientKey } from '../support/gateway-under-test.ts';
import { bothWays, closeHealthy, completion, hostileSetting } from '../support/hostile-setting.ts';
import { send } from '../support/raw-client.ts';
import { events, streamed, whole } from '../support/scripted-upstream.ts';

afterEach(closeHealthy);

const config = { passthrough: [{ path: '/v1/embeddings', provider: 'upstream' }] };

const switches: readonly [name: string, bytes: string][] = [
  [
    'as it should be written',
    'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n',
  ],
  ['without a word of what it switches to', 'HTTP/1.1 101 Switching Protocols\r\n\r\n'],
  [
    'with more that is no HTTP',
    'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n\x00\x01\x02',
  ],
  ['with a length', 'HTTP/1.1 101 Switching Protocols\r\ncontent-length: 5\r\n\r\nhello'],
];

/** Asks for a path that is passed through. */
const embed = (url: string) =>
  send(`${url}/v1/embeddings`, {
    method: 'POST',
    headers: { authorization: `Bearer ${clientKey}`, 'content-type': 'application/json' },
    body: '{"input":"x"}',
  });

describe('an upstream that switches protocols unasked', () => {
  const all = switches.flatMap(([name, bytes]) =>
    bothWays.map(({ way, stream }) => ({ name, bytes, way, stream })),
  );

  it.each(all)('fails the call at once: $name ($way)', async ({ bytes, stream }) => {
    const { upstream, send: ask } = await hostileSetting();
    upstream.replyOnce(bytes);
    const reply = await ask(stream);
    expect([reply.status, ((await reply.json()) as { error: { type: string } }).error.type]).toEqual([
      502,
      'provider_error',
    ]);
    expect(await upstream.requests[0]!.closed).toBe('gateway');
  });

  it.each(switches)('fails a passed-through call at once: %s', async (_, bytes) => {
    const { upstream, gateway } = await hostileSetting({ config }, 2);
    upstream.replyOnce(bytes);
    const { status, text } = await embed(gateway.url);
    expect([status, JSON.parse(text).error.type]).toEqual([502, 'provider_error']);
    expect(await upstream.requests[0]!.closed).toBe('gateway');
  });
});

describe('an interim response', () => {
  const interim = [
    'HTTP/1.1 102 Processing\r\n\r\n',
    'HTTP/1.1 103 Early Hints\r\nlink: </x>; rel=preload\r\n\r\n',
    'HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n',
  ];
  const text = events(
    { choices: [{ index: 0, delta: { content: 'Hello.' }, finish_reason: 'stop' }] },
    '[DONE]',
  );

  it.each(interim)('is skipped: %p', async first => {
    const { upstream, gateway, send: ask, stream } = await hostileSetting({ config }, 2);
    upstream.replyOnce(Buffer.concat([Buffer.from(first), whole(200, completion('Hello.'))]));
    expect((await ask(false)).status).toBe(200);
    upstream.replyOnce(Buffer.concat([Buffer.from(first), streamed(text)]));
    expect((await stream()).text).toMatch(/Hello\.[\s\S]*\[DONE\]/);
    upstream.replyOnce(Buffer.concat([Buffer.from(first), whole(200, '{"data":[]}')]));
    expect((await embed(gateway.url)).text).toBe('{"data":[]}');
  });

  it('of status 100 is skipped in passed-through calls', async () => {
    const { upstream, gateway } = await hostileSetting({ config }, 2);
    upstream.replyOnce(
      Buffer.concat([Buffer.from('HTTP/1.1 100 Continue\r\n\r\n'), whole(200, '{"data":[]}')]),
    );
    expect((await embed(gateway.url)).text).toBe('{"data":[]}');
  });
});
