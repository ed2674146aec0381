import { afterEach, describe, expect, it } from '@jest/globals';
import { clientKey, eventsOf } from '../support/gateway-under-test.ts';
import { closeHealthy, finished, hostileSetting, type Setting, said } from '../support/hostile-setting.ts';
import { RawConnection } from '../support/raw-client.ts';
import { chunk, events, lastChunk, pieces, streamHead } from '../support/scripted-upstream.ts';
import { until } from '../support/until.ts';

afterEach(closeHealthy);

const words = ['山', 'naïve', '🦆', '"', '\n\n', 'x'.repeat(70_000), 'end'];
const body = JSON.stringify({
  model: 'aion-labs/aion-3.5',
  messages: [{ role: 'user', content: 'Hello?' }],
  stream: true,
});
const question = (version: string, ...headers: readonly string[]): string =>
  [
    `POST /v1/chat/completions HTTP/${version}`,
    'host: gateway',
    `authorization: Bearer ${clientKey}`,
    'content-type: application/json',
    `content-length: ${body.length}`,
    ...headers,
    '',
    body,
  ].join('\r\n');

const speak = ({ upstream }: Setting): void =>
  upstream.reply(
    pieces([
      streamHead(),
      ...words.map(word => chunk(events(said(word)))),
      chunk(events(finished(), '[DONE]')),
      lastChunk,
    ]),
  );

/** The first reply in `bytes`: its head, the sizes and the text of its chunks, and what follows. */
function replyIn(bytes: Buffer) {
  const end = bytes.indexOf('\r\n\r\n');
  const head = bytes.toString('latin1', 0, end).toLowerCase();
  const parts: Buffer[] = [];
  let at = end + 4;
  while (true) {
    const line = bytes.indexOf('\r\n', at);
    const size = bytes.toString('latin1', at, line);
    expect(size).toMatch(/^[0-9a-f]+$/);
    const from = line + 2;
    const to = from + Number.parseInt(size, 16);
    expect(bytes.toString('latin1', to, to + 2)).toBe('\r\n');
    at = to + 2;
    if (to === from) break;
    parts.push(bytes.subarray(from, to));
  }
  return { head, parts, text: Buffer.concat(parts).toString(), rest: bytes.subarray(at) };
}

const contentOf = (text: string): string =>
  eventsOf(text)
    .flatMap(({ json }) => json.choices ?? [])
    .map(({ delta }) => delta.content ?? '')
    .join('');

describe('a stream on the wire', () => {
  it('stays separate in the replies to two pipelined requests', async () => {
    const setting = await hostileSetting({}, 2);
    speak(setting);
    const connection = new RawConnection(setting.gateway.url);
    connection.socket.setEncoding('latin1');
    connection.write(question('1.1') + question('1.1'));
    await until(() => connection.text.split('\r\n0\r\n\r\n').length === 3);
    const first = replyIn(Buffer.from(connection.text, 'latin1'));
    const second = replyIn(first.rest);
    for (const { text } of [first, second]) expect(contentOf(text)).toBe(words.join(''));
    expect(second.rest).toHaveLength(0);
    connection.destroy();
  });

  it('ends with the connection for a client without chunked encoding', async () => {
    const setting = await hostileSetting();
    speak(setting);
    const connection = new RawConnection(setting.gateway.url);
    connection.write(question('1.0'));
    await connection.closed;
    const [head = '', ...bodies] = connection.text.split('\r\n\r\n');
    expect(head.toLowerCase()).not.toContain('transfer-encoding');
    expect(contentOf(bodies.join('\r\n\r\n'))).toBe(words.join(''));
  });
});
