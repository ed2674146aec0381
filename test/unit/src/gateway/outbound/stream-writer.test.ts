import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { StreamRenderer } from '../../../../../src/gateway/dialects/define-dialect.ts';
import type { Exchange } from '../../../../../src/gateway/exchange/exchange.ts';
import { StreamWriter } from '../../../../../src/gateway/outbound/stream-writer.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { chunkOf } from '../../../chunk-stream.ts';
import { sampleExchange } from '../../../sample-exchange.ts';
import { FakeSink } from './sink.ts';

const renderer: StreamRenderer = {
  chunk: ({ choices }) => `data: ${choices[0]!.delta.content}\n\n`,
  error: ({ message }) => `data: ${message}\n\n`,
  end: () => 'data: [DONE]\n\n',
};
const heartbeat = ': keep-alive\n\n';
const limits = { stream_commit_ms: 10_000, keepalive_ms: 100, slow_client_ms: 60_000 };

let clock: FakeClock;
let exchange: Exchange;
let client: FakeSink;
let writer: StreamWriter;

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['nextTick'] });
  clock = new FakeClock();
  exchange = sampleExchange({ start: { clock } });
  client = new FakeSink();
  writer = new StreamWriter(exchange, client.sink, renderer, limits);
});
afterEach(() => {
  writer.close();
  jest.useRealTimers();
});

function pass(ms: number): void {
  clock.advance(ms);
  jest.advanceTimersByTime(ms);
}

function say(text: string): void {
  writer.chunk(chunkOf({ content: text }));
  writer.flush();
}

describe('the heartbeat of a stream', () => {
  it('is written after each silence', () => {
    say('a');
    pass(100);
    pass(100);
    expect(client.written).toBe(`data: a\n\n${heartbeat}${heartbeat}`);
  });

  it('is not written within keepalive_ms of the last event', () => {
    say('a');
    pass(60);
    say('b');
    pass(60);
    expect(client.written).toBe('data: a\n\ndata: b\n\n');
    pass(40);
    expect(client.written).toBe(`data: a\n\ndata: b\n\n${heartbeat}`);
  });

  it('is paused while the client reads nothing, and resumes with it', async () => {
    client.keepsUp = false;
    say('a');
    for (let beats = 0; beats < 20; beats++) pass(100);
    expect(client.written).toBe('data: a\n\n');
    client.keepsUp = true;
    client.emit('drain');
    await Promise.resolve();
    pass(100);
    expect(client.written).toBe(`data: a\n\n${heartbeat}`);
  });

  it('fails the stream where the dialect throws, and not the process', async () => {
    writer.close();
    const fault = new Error('no heart');
    const heartbeat = () => {
      throw fault;
    };
    writer = new StreamWriter(exchange, client.sink, { ...renderer, heartbeat }, limits);
    const failed = expect(writer.run({ resume() {}, stop() {} } as never)).rejects.toBe(fault);
    say('a');
    pass(100);
    await failed;
  });

  it('stops with the stream: nothing is written after [DONE], and no timer is left', async () => {
    say('a');
    const ended = writer.finish();
    expect(jest.getTimerCount()).toBe(1);
    pass(1000);
    expect(client.written).toBe('data: a\n\ndata: [DONE]\n\n');
    client.emit('finish');
    await ended;
    expect(jest.getTimerCount()).toBe(0);
  });
});

describe('a batch of events', () => {
  it('is written once, in one piece, and the next one behind it', () => {
    writer.chunk(chunkOf({ content: 'a' }));
    writer.chunk(chunkOf({ content: 'b' }));
    expect(client.written).toBe('');
    writer.flush();
    writer.flush();
    say('c');
    expect(client.written).toBe('data: a\n\ndata: b\n\ndata: c\n\n');
  });

  it('is not written to a connection that was destroyed', () => {
    say('a');
    client.destroy();
    say('b');
    expect(client.written).toBe('data: a\n\n');
  });
});

describe('the end of a stream', () => {
  it('waits for a client as long as slow_client_ms allows', async () => {
    say('a');
    const ended = writer.finish();
    pass(limits.slow_client_ms - 1);
    expect(client.destroyed).toBe(false);
    pass(1);
    await ended;
    expect(client.destroyed).toBe(true);
  });

  it('waits two seconds at most when the gateway shuts down', async () => {
    say('a');
    exchange.abort('shutdown');
    const ended = writer.finish();
    pass(1999);
    expect(client.destroyed).toBe(false);
    pass(1);
    await ended;
    expect(client.destroyed).toBe(true);
  });
});

describe('a stream that does not end by itself', () => {
  it('fails two seconds after a shutdown has aborted it, as when a stage is at work for ever', async () => {
    const run = writer.run({ resume() {}, stop() {} });
    const failed = expect(run).rejects.toMatchObject({ type: 'server_error' });
    exchange.abort('shutdown');
    say('a');
    pass(2000);
    await failed;
    writer.close();
    expect(jest.getTimerCount()).toBe(0);
  });
});

describe('events that come in one read', () => {
  it('are written together at the end of the turn, those of later reads at once', async () => {
    jest.useRealTimers();
    const writes: string[] = [];
    const server = createServer((_, response) => {
      const streamed = new StreamWriter(exchange, response, renderer, limits);
      const tell = (content: string) => {
        streamed.chunk(chunkOf({ content }));
        streamed.flush();
      };
      const socket = response.socket!;
      const write = socket.write.bind(socket);
      tell('a');
      socket.write = (...given: unknown[]) => {
        writes.push(String(given[0]));
        return write(...(given as Parameters<typeof write>));
      };
      clock.advance(50);
      for (const content of ['b', 'c', 'd']) tell(content);
      expect(writes).toEqual(['9\r\ndata: b\n\n\r\n']);
      setImmediate(() => {
        clock.advance(50);
        tell('e');
        void streamed.finish().finally(() => streamed.close());
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n');
    let text = '';
    for await (const part of socket) text += part;
    server.close();
    expect(writes.slice(1, 3)).toEqual(['12\r\ndata: c\n\ndata: d\n\n\r\n', '9\r\ndata: e\n\n\r\n']);
    expect(text.replaceAll(/\r\n[0-9a-f]+\r\n/g, '')).toContain(
      'data: a\n\ndata: b\n\ndata: c\n\ndata: d\n\ndata: e\n\n',
    );
  });
});
