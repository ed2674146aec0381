import { PassThrough } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Exchange } from '../../../../../src/gateway/exchange/exchange.ts';
import { writeBytes } from '../../../../../src/mount/passthrough/write-bytes.ts';
import { sampleExchange } from '../../../sample-exchange.ts';
import { FakeSink } from '../../gateway/outbound/sink.ts';

const limits = { slow_client_ms: 60_000 };
let exchange: Exchange;
let client: FakeSink;
let body: PassThrough;

beforeEach(() => {
  exchange = sampleExchange();
  client = new FakeSink();
  body = new PassThrough();
});
afterEach(() => {
  body.destroy();
});

/** Begins to send `body`; most clients take everything at once. */
function send(headers: Record<string, string | number> = {}, readsOn = false): Promise<void> {
  Object.assign(client, { socket: { writableLength: 0 }, writableEnded: true });
  return writeBytes(exchange, client.sink, 206, { ...headers }, body, limits, readsOn);
}

describe('a reply sent byte by byte', () => {
  it('has its status, its parts and its end', async () => {
    const sent = send();
    body.write('one ');
    await turn();
    expect([client.headersSent, client.written, client.isEnded]).toEqual([true, 'one ', false]);
    body.end('two');
    await sent;
    expect([client.written, client.isEnded]).toEqual(['one two', true]);
    expect([exchange.end.status, exchange.end.reply_ended]).toEqual([206, true]);
    expect(exchange.replied_ms).toBeDefined();
  });

  it('has the headers of stages, also in place of those of the body', async () => {
    exchange.replyHeaders['cache-control'] = 'no-store';
    const sent = send({ 'cache-control': 'public', etag: '"1"' });
    body.end();
    await sent;
    expect(client.headers).toEqual({
      'cache-control': 'no-store',
      etag: '"1"',
      'x-request-id': exchange.id,
    });
  });

  it('with an announced length ends with its last part, without waiting for the end of the body', async () => {
    const sent = send({ 'content-length': 7 });
    body.write('one ');
    await turn();
    expect(client.isEnded).toBe(false);
    body.write('two');
    await sent;
    expect([client.written, client.isEnded]).toEqual(['one two', true]);
    body.end();
    await turn();
    expect(client.written).toBe('one two');
  });

  it('pauses the body while the client does not read', async () => {
    client.keepsUp = false;
    const sent = send();
    body.write('one ');
    await turn();
    body.write('two');
    await turn();
    expect([client.written, body.isPaused()]).toEqual(['one ', true]);
    client.keepsUp = true;
    client.emit('drain');
    body.end();
    await sent;
    expect(client.written).toBe('one two');
  });

  it.each<[string, () => unknown, string]>([
    ['fails', () => body.destroy(new Error('reset')), 'reset'],
    ['is closed before its end', () => body.destroy(), 'the body was closed before its end'],
  ])('disconnects the client when the body %s', async (_, broke, message) => {
    const sent = send();
    body.write('one ');
    await turn();
    broke();
    await expect(sent).rejects.toThrow(message);
    expect([client.destroyed, client.isEnded, exchange.end.reply_ended]).toEqual([true, false, false]);
  });

  it('disconnects the client when the body has already failed', async () => {
    body.on('error', () => {}).destroy(new Error('reset'));
    await turn();
    await expect(send()).rejects.toThrow('reset');
    expect(client.destroyed).toBe(true);
  });

  it('lets the body run on for its other readers when a client has left that it was paused for', async () => {
    let read = '';
    body.on('data', part => (read += part));
    client.keepsUp = false;
    const sent = send({}, true);
    body.write('one ');
    await turn();
    expect(body.isPaused()).toBe(true);
    exchange.clientLeft();
    await sent;
    body.end('two');
    await turn();
    expect([read, client.written, body.readableEnded]).toEqual(['one two', 'one ', true]);
    expect([client.isEnded, exchange.end.reply_ended]).toEqual([false, false]);
  });

  it('destroys the rest of the body when the client has left', async () => {
    const sent = send();
    body.write('one ');
    await turn();
    exchange.clientLeft();
    await sent;
    expect([body.destroyed, client.isEnded]).toEqual([true, false]);
  });
});
