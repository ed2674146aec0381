import { once } from 'node:events';
import { createServer, type RequestListener, request, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { Framing } from '../../../../../src/gateway/outbound/framing.ts';

/** What a client reads of the answer of `listener`, over a connection that is used once. */
async function answered(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const sent = request({ port, host: '127.0.0.1', agent: false }).end();
  const [response] = await once(sent, 'response');
  let text = '';
  for await (const part of response) text += part;
  server.close();
  return text;
}

describe('a chunked reply', () => {
  it('is framed as HTTP clients expect, for any characters and any end', async () => {
    for (const last of ['', 'end'])
      expect(
        await answered((_, response) => {
          response.writeHead(200);
          const framing = Framing.of(response)!;
          expect([framing.write('Да '), framing.write(''), framing.write('x'.repeat(20))]).toEqual([
            true,
            true,
            true,
          ]);
          framing.end(last);
        }),
      ).toBe(`Да ${'x'.repeat(20)}${last}`);
  });
});

describe('a chunked reply that its client does not read', () => {
  it('says that the connection is full, and emits drain once all was taken', async () => {
    const part = 'x'.repeat(1024 * 1024);
    let parts = 0;
    const text = await answered(async (_, response) => {
      response.writeHead(200);
      const framing = Framing.of(response)!;
      do parts++;
      while (framing.write(part));
      await once(response, 'drain');
      framing.end('end');
    });
    expect(text).toBe(`${part.repeat(parts)}end`);
  });
});

describe('a reply with unknown framing', () => {
  const framingOf = async (prepare: (response: ServerResponse) => void): Promise<Framing | undefined> => {
    let framing: Framing | undefined;
    await answered((_, response) => {
      prepare(response);
      framing = Framing.of(response);
      response.end();
    });
    return framing;
  };

  it.each<[string, (response: ServerResponse) => void]>([
    ['whose head has not been sent', () => {}],
    ['of a known length', response => response.writeHead(200, { 'content-length': 0 })],
    [
      'of a framework with its own prototype',
      response => {
        Object.setPrototypeOf(response, Object.create(ServerResponse.prototype));
        response.writeHead(200);
      },
    ],
    [
      'whose write is patched',
      response => {
        response.writeHead(200);
        const { write } = response;
        response.write = ((...args: Parameters<typeof write>) => write.apply(response, args)) as typeof write;
      },
    ],
    [
      'whose end is patched',
      response => {
        response.writeHead(200);
        const { end } = response;
        response.end = ((...args: Parameters<typeof end>) => end.apply(response, args)) as typeof end;
      },
    ],
  ])('is one %s', async (_, prepare) => {
    expect(await framingOf(prepare)).toBeUndefined();
  });
});
