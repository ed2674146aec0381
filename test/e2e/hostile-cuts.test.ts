import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from '@jest/globals';
import { ask, type ClientStream } from '../support/gateway-under-test.ts';
import {
  closeHealthy,
  contentOf,
  expectWholeStream,
  finished,
  hostileSetting,
  reasoningOf,
  type Setting,
  said,
  used,
} from '../support/hostile-setting.ts';
import { chunk, events, lastChunk, streamHead } from '../support/scripted-upstream.ts';

afterEach(closeHealthy);

/** Requests at the same time. */
const at_a_time = 48;

/** Plays `bytes` in two pieces, cut where the user's message says. */
function playCuts({ upstream }: Setting, bytes: Buffer, headers = {}): void {
  upstream.reply(async (socket, { body }) => {
    const [{ content }] = body.messages as [{ content: string }];
    socket.write(streamHead(headers));
    socket.write(chunk(bytes.subarray(0, Number(content))));
    // Long enough that the two pieces are two reads.
    await sleep(15);
    socket.write(Buffer.concat([chunk(bytes.subarray(Number(content))), Buffer.from(lastChunk)]));
  });
}

/** The replies to `bytes` cut at each of its bytes, many at a time; the same bytes to a client are the same reply. */
async function atEveryByte(setting: Setting, bytes: Buffer, headers = {}): Promise<ClientStream[]> {
  playCuts(setting, bytes, headers);
  const replies = new Map<string, ClientStream>();
  let next = 1;
  const worker = async () => {
    while (next < bytes.length) {
      const reply = await setting.gateway.stream(ask(String(next++)));
      replies.set(reply.text.replaceAll(/"id":"[^"]*"|"created":\d+/g, ''), reply);
    }
  };
  await Promise.all(Array.from({ length: at_a_time }, worker));
  expect(setting.upstream.requests.length).toBe(bytes.length - 1);
  return [...replies.values()];
}

describe('a stream cut in two at every byte', () => {
  const parts = [
    said('<think>Ünï 思'),
    said('考</think>Grüße 世界 👩‍👩‍👧'),
    finished(),
    used(7, 3),
    '[DONE]',
  ].map(part =>
    // Only what matters of each chunk, because the test is as long as its bytes.
    typeof part === 'string'
      ? part
      : { choices: part.choices, ...('usage' in part && { usage: part.usage }) },
  );
  const text = events(...parts);

  it.each([
    { ends: 'LF', bytes: Buffer.from(text) },
    { ends: 'CRLF and a byte order mark', bytes: Buffer.from(`\uFEFF${text.replaceAll('\n', '\r\n')}`) },
    { ends: 'CR', bytes: Buffer.from(text.replaceAll('\n', '\r')) },
  ])('is read the same with line ends $ends', async ({ bytes }) => {
    const setting = await hostileSetting({}, at_a_time);
    const replies = await atEveryByte(setting, bytes);
    for (const reply of replies) {
      const chunks = expectWholeStream(reply, 'Grüße 世界 👩‍👩‍👧');
      expect(reasoningOf(reply)).toBe('Ünï 思考');
      expect(chunks.at(-1)?.json.usage?.completion_tokens).toBe(3);
    }
  });

  it('is read the same when it is compressed', async () => {
    const setting = await hostileSetting({}, at_a_time);
    const replies = await atEveryByte(setting, gzipSync(text), { 'content-encoding': 'gzip' });
    for (const reply of replies) expectWholeStream(reply, 'Grüße 世界 👩‍👩‍👧');
  });
});

describe('a stream sent byte by byte', () => {
  const mark = '\uFEFF';
  it.each([
    ['line ends \\n', mark, '\n'],
    ['line ends \\r\\n', mark, '\r\n'],
    ['line ends \\r', mark, '\r'],
    // The second is part of its line, which is no data then.
    ['two byte order marks', `${mark}${mark}data: x\n\n`, '\n'],
  ])('is read the same with %s', async (_, beginning, end) => {
    const { upstream, stream } = await hostileSetting();
    const text = events(said('é 世 👋'), finished('length'), '[DONE]').replaceAll('\n', end);
    const bytes = Buffer.from(beginning + text);
    upstream.reply(async socket => {
      socket.write(streamHead());
      for (const byte of bytes) {
        socket.write(chunk(Buffer.from([byte])));
        await new Promise(resolve => setImmediate(resolve));
      }
      socket.write(lastChunk);
    });
    expectWholeStream(await stream(), 'é 世 👋', 'length');
  });
});

describe('invalid UTF-8 in a stream', () => {
  it('becomes replacement characters', async () => {
    const { upstream, stream } = await hostileSetting();
    const [before, after] = events(said('a|b'), finished(), '[DONE]').split('|') as [string, string];
    for (const wrong of [[0xff], [0xc3], [0xf0, 0x9f, 0x91], [0xed, 0xa0, 0x80]]) {
      const bytes = Buffer.concat([Buffer.from(before), Buffer.from(wrong), Buffer.from(after)]);
      upstream.reply(Buffer.concat([Buffer.from(streamHead()), chunk(bytes), Buffer.from(lastChunk)]));
      expect(contentOf(await stream())).toMatch(/^a\uFFFD+b$/);
    }
  });

  it('includes escaped half surrogates, which do not end the stream', async () => {
    const { upstream, stream } = await hostileSetting();
    const cut = [String.raw`{"choices":[{"index":0,"delta":{"content":"\ud83d"}}]}`, said('x'), finished()];
    upstream.reply(Buffer.concat([Buffer.from(streamHead()), chunk(events(...cut)), Buffer.from(lastChunk)]));
    const reply = await stream();
    expect(reply.events.at(-1)?.data).toBe('[DONE]');
    expect(contentOf(reply)).toMatch(/^.x$/u);
  });
});
