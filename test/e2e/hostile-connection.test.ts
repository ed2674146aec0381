import { type AddressInfo, createServer, type Server } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { ask, startGateway } from '../support/gateway-under-test.ts';
import {
  bothWays,
  closeHealthy,
  completion,
  contentOf,
  delta,
  expectBrokenStream,
  expectRefusal,
  expectWholeStream,
  finished,
  hostileSetting,
  said,
  used,
} from '../support/hostile-setting.ts';
import {
  chunk,
  events,
  head,
  type Script,
  streamHead,
  thenClose,
  thenReset,
  whole,
} from '../support/scripted-upstream.ts';

afterEach(closeHealthy);

const unreachable = 'The upstream provider could not be reached.';
const brokeOff = 'The upstream provider closed the stream unexpectedly.';

const jsonHead = head(200, { 'content-type': 'application/json', 'content-length': 500 });

describe.each(bothWays)('an upstream that fails before its reply ($way)', ({ stream }) => {
  const cases: readonly { name: string; script: Script; message?: string }[] = [
    { name: 'resets', script: thenReset() },
    { name: 'closes', script: thenClose() },
    { name: 'resets within the status line', script: thenReset('HTTP/1.1 20') },
    { name: 'closes within the headers', script: thenClose('HTTP/1.1 200 OK\r\ncontent-ty') },
    { name: 'does not speak HTTP', script: thenClose('220 mail.example ESMTP\r\n') },
    { name: 'speaks TLS', script: thenClose(Buffer.from([0x15, 3, 1, 0, 2, 2, 70])) },
    {
      name: 'switches protocols',
      script: 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n',
      message: 'The upstream provider returned an invalid response.',
    },
    { name: 'has endless headers', script: thenClose(head(200, { 'x-endless': 'x'.repeat(100_000) })) },
  ];

  it.each(cases)('causes a 502: $name', async ({ script, message = unreachable }) => {
    const { upstream, send } = await hostileSetting();
    upstream.reply(script);
    await expectRefusal(await send(stream), 502, 'provider_error', message);
    await upstream.last.closed;
  });

  it('causes a 502 when it refuses the connection', async () => {
    const port = await freePort();
    const gateway = await startGateway({ upstream: `http://127.0.0.1:${port}/v1` });
    const response = await gateway.post(ask('Hello?', { stream }));
    await expectRefusal(response, 502, 'provider_error', unreachable);
    expect(await gateway.metric('sluice_in_flight')).toBe(0);
    await gateway.close();
  });

  it('causes a 502 when its host name does not resolve', async () => {
    const gateway = await startGateway({ upstream: 'http://no-such-host.invalid/v1' });
    const response = await gateway.post(ask('Hello?', { stream }));
    expect(await expectRefusal(response, 502, 'provider_error')).not.toContain('no-such-host');
    await gateway.close();
  });

  it('causes a 502 when TLS is expected and it speaks none', async () => {
    const plain = createServer(socket => {
      socket.on('error', () => {}).on('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    });
    const port = await portOf(plain);
    const gateway = await startGateway({ upstream: `https://127.0.0.1:${port}/v1` });
    const response = await gateway.post(ask('Hello?', { stream }));
    await expectRefusal(response, 502, 'provider_error', unreachable);
    await gateway.close();
    plain.close();
  });

  it('is not one that sends 103 Early Hints first', async () => {
    const { upstream, send } = await hostileSetting();
    upstream.reply(`HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n${whole(200, completion('Hello.'))}`);
    expect(await (await send(stream)).text()).toContain('"content":"Hello."');
  });

  it('receives the request only once', async () => {
    const { upstream, send } = await hostileSetting();
    upstream.reply(thenReset());
    await expectRefusal(await send(stream), 502, 'provider_error');
    expect(upstream.requests.length).toBe(1);
  });
});

describe('an upstream that fails after its headers', () => {
  const cases: readonly { name: string; script: Script; message?: string }[] = [
    { name: 'resets', script: thenReset(streamHead()) },
    { name: 'closes', script: thenClose(streamHead()) },
    { name: 'resets after a comment', script: thenReset(streamHead(), chunk(': waiting\n\n')) },
    { name: 'resets within the first event', script: thenReset(streamHead(), chunk('data: {"choi')) },
    { name: 'has a broken chunk', script: thenClose(streamHead(), 'xyz\r\n') },
  ];

  it.each(cases)('causes a 502 before the first event: $name', async ({ script }) => {
    const { upstream, send } = await hostileSetting();
    upstream.reply(script);
    await expectRefusal(await send(true), 502, 'provider_error', brokeOff);
    await upstream.last.closed;
  });

  it.each([
    { name: 'resets', script: thenReset(jsonHead, '{"choices":[') },
    { name: 'closes', script: thenClose(jsonHead, '{"choices":[') },
    {
      name: 'closes with a whole reply that is shorter than announced',
      script: thenClose(
        head(200, { 'content-type': 'application/json', 'content-length': 5000 }),
        JSON.stringify(completion('Hello.')),
      ),
    },
  ])('causes a 502 within a whole reply: $name', async ({ script }) => {
    const { upstream, send } = await hostileSetting();
    upstream.reply(script);
    await expectRefusal(await send(false), 502, 'provider_error');
  });
});

describe('an upstream that fails in the middle of its stream', () => {
  const start = [streamHead(), chunk(events(said('Hello'), said(' there')))];
  const cases: readonly { name: string; script: Script; message?: string }[] = [
    { name: 'resets', script: thenReset(...start) },
    { name: 'closes', script: thenClose(...start) },
    { name: 'resets within an event', script: thenReset(...start, chunk('data: {"choices":[{"in')) },
    { name: 'resets within a character', script: thenReset(...start, chunk(Buffer.from([0xf0, 0x9f]))) },
    { name: 'has a broken chunk', script: thenClose(...start, 'xyz\r\n') },
    {
      name: 'closes where only the connection ends the body',
      script: thenClose(
        head(200, { 'content-type': 'text/event-stream' }),
        events(said('Hello'), said(' there')),
      ),
    },
  ];

  it.each(cases)('causes an error event and [DONE] after the text: $name', async ({ script }) => {
    const { upstream, stream, gateway } = await hostileSetting();
    upstream.reply(script);
    expectBrokenStream(await stream(), 'Hello there', 'provider_error', brokeOff);
    await upstream.last.closed;
    expect(await gateway.metric('sluice_upstream_errors_total', { kind: 'broken' })).toBe(1);
    const ended = { end_reason: 'upstream_failed', error_type: 'provider_error', status: '200' };
    expect(await gateway.metric('sluice_requests_total', ended)).toBe(1);
  });

  it.each([
    { name: 'resets', script: thenReset(...start, chunk(events(finished(), used(7, 3)))) },
    { name: 'closes', script: thenClose(...start, chunk(events(finished(), used(7, 3)))) },
  ])('causes no error when every choice has ended: $name', async ({ script }) => {
    const { upstream, stream } = await hostileSetting();
    upstream.reply(script);
    const chunks = expectWholeStream(await stream(), 'Hello there');
    expect(chunks.at(-1)?.json.usage).toMatchObject({ prompt_tokens: 7, completion_tokens: 3 });
  });

  it('causes an error event when one of two choices is open', async () => {
    const { upstream, stream } = await hostileSetting();
    upstream.reply(thenReset(...start, chunk(events(delta({ content: 'Hi' }, null, {}, 1), finished()))));
    const reply = await stream({ n: 2 });
    expect([contentOf(reply), contentOf(reply, 1)]).toEqual(['Hello there', 'Hi']);
    expect(reply.events.at(-2)?.json).toEqual({ error: { message: brokeOff, type: 'provider_error' } });
    expect(reply.events.at(-1)?.data).toBe('[DONE]');
  });

  it('is disconnected at once when its stream is not readable', async () => {
    const { upstream, stream } = await hostileSetting();
    upstream.reply(socket => {
      for (const part of [...start, chunk('data: {garbage}\n\n')]) socket.write(part);
    });
    expectBrokenStream(await stream(), 'Hello there', 'provider_error');
    expect(await upstream.last.closed).toBe('gateway');
  });
});

const portOf = (server: Server): Promise<number> =>
  new Promise(resolve => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });

/** A port on which nobody listens any longer. */
async function freePort(): Promise<number> {
  const server = createServer();
  const port = await portOf(server);
  await new Promise(resolve => server.close(resolve));
  return port;
}
