import { type IncomingHttpHeaders, request } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import compression from 'compression';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { ask, clientKey, eventsOf } from '../support/gateway-under-test.ts';
import { closeMounted, mounted } from '../support/mounted-gateway.ts';
import { RawConnection, send } from '../support/raw-client.ts';

let simulator: Simulator;

beforeEach(async () => {
  simulator = await startSimulator();
});

afterEach(async () => {
  await closeMounted();
  await simulator.close();
});

/** An application that compresses whatever it may, however small. */
const compressed = (sections: Parameters<typeof mounted>[2] = {}) =>
  mounted(simulator, app => app.use(compression({ threshold: 0 })), sections);

const headers = (encodings: string) => ({
  authorization: `Bearer ${clientKey}`,
  'content-type': 'application/json',
  'accept-encoding': encodings,
});

/** POSTs, and gives every piece of the reply with the time at which it came. */
async function timed(chat: string, body: object) {
  const reply = await fetch(chat, {
    method: 'POST',
    headers: headers('gzip, br'),
    body: JSON.stringify(body),
  });
  const pieces: { text: string; at_ms: number }[] = [];
  const decoder = new TextDecoder();
  for await (const part of reply.body!)
    pieces.push({ text: decoder.decode(part as Uint8Array, { stream: true }), at_ms: performance.now() });
  return { reply, pieces, text: pieces.map(({ text }) => text).join('') };
}

describe('a gateway mounted behind compression()', () => {
  it('delivers a stream chunk by chunk at the pace of the upstream', async () => {
    const { chat } = await compressed();
    const pace_ms = 100;
    const { reply, pieces, text } = await timed(
      chat,
      ask(`[[sim:tokens=8 reasoning_tokens=2 tps=${1000 / pace_ms}]]`, { stream: true }),
    );
    expect(reply.headers.get('content-encoding')).toBeNull();
    expect(reply.headers.get('cache-control')).toBe('no-cache, no-transform');
    const events = eventsOf(text);
    expect(events.at(-1)?.data).toBe('[DONE]');
    // One piece for each token, and none of them waits for the next.
    expect(pieces.length).toBeGreaterThanOrEqual(8);
    expect(pieces.at(-1)!.at_ms - pieces[0]!.at_ms).toBeGreaterThan(6 * pace_ms);
    const longest_ms = Math.max(...pieces.slice(1).map(({ at_ms }, at) => at_ms - pieces[at]!.at_ms));
    expect(longest_ms).toBeLessThan(5 * pace_ms);
  });

  it('delivers the first chunk to a client that waits for it', async () => {
    const { url } = await compressed();
    const body = JSON.stringify(ask('[[sim:tokens=endless tps=20]]', { stream: true }));
    const connection = new RawConnection(url);
    connection.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${clientKey}\r\naccept-encoding: gzip\r\n` +
        `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    await connection.received(/"content":/);
    expect(connection.text).not.toContain('[DONE]');
    connection.destroy();
  });

  it('delivers the comments of a silent stream', async () => {
    const { chat } = await compressed({ server: { stream_commit_ms: 50, keepalive_ms: 50 } });
    const { pieces } = await timed(
      chat,
      ask('[[sim:ttft=500 tokens=2 reasoning_tokens=1]]', { stream: true }),
    );
    expect(pieces[0]?.text).toBe(': keep-alive\n\n');
    expect(pieces.at(-1)!.at_ms - pieces[0]!.at_ms).toBeGreaterThan(250);
  });

  it.each([
    ['gzip', gunzipSync],
    ['br', brotliDecompressSync],
  ])('compresses JSON with %s only for a client that accepts it', async (encoding, decompress) => {
    const { url, chat } = await compressed();
    for (const [target, body] of [
      [`${url}/v1/models`, undefined],
      [chat, JSON.stringify(ask('[[sim:tokens=3000]]'))],
      [chat, '{'],
    ] as const) {
      const reply = await raw(target, body, encoding);
      expect(reply.headers['content-encoding']).toBe(encoding);
      expect(reply.headers).not.toHaveProperty('content-length');
      expect(() => JSON.parse(decompress(reply.bytes).toString())).not.toThrow();
    }
    const plain = await send(`${url}/v1/models`);
    expect(plain.headers).not.toHaveProperty('content-encoding');
    expect(JSON.parse(plain.text)).toMatchObject({ object: 'list' });
  });
});

interface Reply {
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
}

/** A reply whose bytes are left as they came. */
function raw(url: string, body: string | undefined, encoding: string): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST';
    const sent = request(url, { method, headers: headers(encoding), agent: false }, response => {
      const parts: Buffer[] = [];
      response
        .on('data', part => parts.push(part))
        .on('end', () => resolve({ headers: response.headers, bytes: Buffer.concat(parts) }));
    });
    sent.on('error', reject).end(body);
  });
}
