import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  closeHealthy,
  contentOf,
  expectBrokenStream,
  expectRefusal,
  expectWholeStream,
  finished,
  hostileSetting,
  said,
  used,
} from '../support/hostile-setting.ts';
import { chunk, events, head, lastChunk, streamed, streamHead } from '../support/scripted-upstream.ts';
import { until } from '../support/until.ts';

afterEach(closeHealthy);

const invalid = 'The upstream provider returned an invalid response.';
const plain = events(said('Grüße'), said(', 世界 👋'), finished(), used(7, 3), '[DONE]');
const content = 'Grüße, 世界 👋';
const json = (part: object) => JSON.stringify(part);

/** The same stream in every spelling that the format allows. */
const spellings: readonly { name: string; text: string }[] = [
  { name: 'LF', text: plain },
  { name: 'CRLF', text: plain.replaceAll('\n', '\r\n') },
  { name: 'CR', text: plain.replaceAll('\n', '\r') },
  { name: 'all line ends mixed', text: mixed(plain) },
  { name: 'a byte order mark', text: `\uFEFF${plain}` },
  { name: 'a byte order mark and CRLF', text: `\uFEFF${plain.replaceAll('\n', '\r\n')}` },
  { name: 'no space after the colon', text: plain.replaceAll('data: ', 'data:') },
  { name: 'comments', text: `: hi\n\n:\n\n${plain.replaceAll('\n\n', '\n: within an event\n\n:ping\n\n')}` },
  { name: 'many blank lines', text: `\n\n\n${plain.replaceAll('\n\n', '\n\n\n\n\n')}` },
  {
    name: 'event, id and retry lines',
    text: plain.replaceAll('data: ', 'event: message\nid: 7\nretry: 9\ndata: '),
  },
  { name: 'fields after the data', text: plain.replaceAll('\n\n', '\nevent: chunk\nid: 1\n\n') },
  { name: 'unknown fields', text: plain.replaceAll('data: ', 'foo: bar\nbaz\ndata: ') },
  {
    name: 'several data lines per event',
    text: [said('Grüße'), said(', 世界 👋'), finished(), used(7, 3)]
      .map(part => `${JSON.stringify(part, null, 1).replaceAll(/^/gm, 'data: ')}\n\n`)
      .join(''),
  },
  { name: 'spaces around the JSON', text: plain.replaceAll(/data: (.*)/g, 'data:   $1   ') },
  { name: 'empty events between', text: plain.replaceAll('\n\n', '\n\ndata:\n\ndata\n\n') },
];

function mixed(text: string): string {
  const ends = ['\r\n', '\n', '\r'];
  let at = 0;
  // CR before LF would be one end instead of two.
  return text.replaceAll('\n\n', () => (at++ % 2 === 0 ? `${ends[at % 3]}\r\n` : '\n\r\r'));
}

describe.each(spellings)('an event stream with $name', ({ text }) => {
  it('is read', async () => {
    const { upstream, stream } = await hostileSetting();
    upstream.reply(streamed(text));
    const chunks = expectWholeStream(await stream(), content);
    expect(chunks.at(-1)?.json.usage).toMatchObject({ prompt_tokens: 7, completion_tokens: 3 });
  });

  it('is read when the connection close ends it', async () => {
    const { upstream, stream } = await hostileSetting();
    upstream.reply(socket => {
      socket.write(head(200, { 'content-type': 'text/event-stream' }));
      socket.end(text);
    });
    expectWholeStream(await stream(), content);
  });
});

describe('an event stream', () => {
  it.each(['text/event-stream', 'Text/Event-Stream;charset=UTF-8', 'text/plain', 'application/octet-stream'])(
    'is read with the content type %s',
    async type => {
      const { upstream, stream } = await hostileSetting();
      upstream.reply(streamed(plain, { 'content-type': type }));
      expectWholeStream(await stream(), content);
    },
  );

  it('is read without a content type', async () => {
    const { upstream, stream } = await hostileSetting();
    const start = head(200, { 'transfer-encoding': 'chunked' });
    upstream.reply(Buffer.concat([Buffer.from(start), chunk(plain), Buffer.from(lastChunk)]));
    expectWholeStream(await stream(), content);
  });
});

describe('the size limits of a stream', () => {
  const limits = { provider: { max_event_bytes: 10_000, max_reply_bytes: 100_000 } };

  it.each([
    { name: 'one line', text: `data: ${json(said('x'.repeat(200_000)))}\n\n` },
    { name: 'a line that never ends', text: `data: {"x":"${'x'.repeat(90_000)}` },
    { name: 'many data lines', text: `data: ${'x'.repeat(1000)}\n`.repeat(90) },
  ])('end a stream whose event of $name is too large', async ({ text }) => {
    const { upstream, stream } = await hostileSetting(limits);
    upstream.reply(async socket => {
      socket.write(streamHead());
      socket.write(chunk(events(said('Hello'))));
      // What arrives together with the fault is not promised to be seen.
      await sleep(100);
      for (let at = 0; at < text.length; at += 7000) socket.write(chunk(text.slice(at, at + 7000)));
    });
    expectBrokenStream(await stream(), 'Hello', 'provider_error', invalid);
    expect(await upstream.last.closed).toBe('gateway');
  });

  it('reject a stream whose oversized event arrives in one piece', async () => {
    const { upstream, send } = await hostileSetting(limits);
    upstream.reply(streamed(events(said('x'.repeat(20_000)), finished(), '[DONE]')));
    await expectRefusal(await send(true), 502, 'provider_error', invalid);
  });

  it('end a stream of too many events', async () => {
    const { upstream, stream } = await hostileSetting(limits);
    upstream.reply(socket => {
      socket.write(streamHead());
      const flood = setInterval(() => socket.write(chunk(events(said('x'.repeat(5000))))), 1);
      socket.on('close', () => clearInterval(flood));
    });
    const reply = await stream();
    expect(contentOf(reply).length).toBeLessThan(100_000);
    expectBrokenStream(reply, contentOf(reply), 'provider_error', invalid);
    await until(() => upstream.last.isClosed);
  });

  it('reject a stream of too many comments', async () => {
    const { upstream, send } = await hostileSetting(limits);
    upstream.reply(socket => {
      socket.write(streamHead());
      const flood = setInterval(() => socket.write(chunk(': x\n\n'.repeat(2000))), 1);
      socket.on('close', () => clearInterval(flood));
    });
    await expectRefusal(await send(true), 502, 'provider_error', invalid);
    await until(() => upstream.last.isClosed);
  });

  it.each([
    { name: 'comments', text: `: ${'x'.repeat(50_000)}\n\n` },
    { name: 'unknown fields', text: `${'x'.repeat(50_000)}\n\n` },
  ])('do not count $name, which are never buffered', async ({ text }) => {
    const { upstream, stream } = await hostileSetting(limits);
    upstream.reply(streamed(events(said('Hello')) + text + events(finished(), '[DONE]')));
    expectWholeStream(await stream(), 'Hello');
  });

  it('allow a stream whose total and events are below them', async () => {
    const { upstream, stream } = await hostileSetting(limits);
    const text = 'x'.repeat(9000);
    upstream.reply(streamed(events(said(text), said(text), said(text), finished(), '[DONE]')));
    expectWholeStream(await stream(), text.repeat(3));
  });
});
