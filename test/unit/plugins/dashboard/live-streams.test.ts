import { createServer, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Person } from '../../../../plugins/dashboard/access/roles.ts';
import { type LiveSource, LiveStreams } from '../../../../plugins/dashboard/live-streams.ts';
import { Html } from '../../../../plugins/dashboard/view/html.ts';
import { until } from '../../../support/until.ts';

let server: Server | undefined;
let live: LiveStreams | undefined;

afterEach(() => {
  live?.close();
  server?.close();
  server?.closeAllConnections();
});

interface Serving {
  readonly url: string;
  readonly warnings: string[];
  /** How many requests were answered with an error of the page. */
  readonly refused: number[];
}

const query = new URLSearchParams();
const partsOf = (text: string | number) => ({ part: new Html(String(text)) });
/** Without the ids of events. */
const dataOf = (text: string) => text.replaceAll(/^id: .*\n/gm, '');

const personOf = ({ headers }: IncomingMessage): Person => ({
  actor: String(headers.person ?? 'one'),
  role: 'viewer',
});

/** Serves streams of `source` to everybody; the header `person` says whose they are, each in a session of its own. */
async function serving(
  options: ConstructorParameters<typeof LiveStreams>[0],
  source: LiveSource,
  isOpen = async () => true,
): Promise<Serving> {
  live = new LiveStreams(options);
  const warnings: string[] = [];
  const refused: number[] = [];
  const log = { warn: (_: object, message: string) => void warnings.push(message) } as never;
  server = createServer((incoming: IncomingMessage, response) => {
    live!
      .serve(
        { path: 'live', query, session: personOf(incoming), incoming, response, isOpen, context: { log } },
        source,
      )
      .catch(thrown => {
        refused.push(thrown.status);
        response.writeHead(thrown.status).end();
      });
  });
  await new Promise<void>(resolve => server!.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, warnings, refused };
}

const textOf = async (url: string): Promise<string> => (await fetch(url)).text();

describe('streams of open pages', () => {
  it('send what is new, and a comment while there is nothing', async () => {
    let asked = 0;
    const parts = async () => {
      if (++asked === 4) live!.close();
      return partsOf('same');
    };
    const { url } = await serving({ heartbeat_ms: 0 }, { every_ms: 1, parts });
    expect(dataOf(await textOf(url))).toBe('data: {"part":["same"]}\n\n: alive\n\n: alive\n\n');
  });

  it('go on from the last event of a browser that connects again, unless it is another person or event', async () => {
    let text = '<b>one</b>two';
    let asked = 0;
    const parts = async () => {
      if (++asked % 2 === 0) live!.restart();
      return partsOf(text);
    };
    const { url } = await serving({}, { every_ms: 1, parts });
    const [, last = ''] = /^id: (.*)$/m.exec(await textOf(url))!;
    text = '<b>one</b>three';
    const again = async (headers: Record<string, string>) =>
      dataOf(await (await fetch(url, { headers })).text()).trim();
    const whole = 'data: {"part":["<b>","one</b>","three"]}';
    expect(await again({ 'last-event-id': last, person: 'two' })).toBe(whole);
    expect(await again({ 'last-event-id': `${last}1` })).toBe(whole);
    expect(await again({ 'last-event-id': last })).toBe('data: {"part":[[0,2],"three"]}');
    expect(await again({ 'last-event-id': last })).toBe(whole);
  });

  it('end with the session, and say so', async () => {
    let isOpen = true;
    const source = {
      every_ms: 1,
      parts: async () => {
        isOpen = false;
        return partsOf(1);
      },
    };
    const { url } = await serving({}, source, async () => isOpen);
    expect(dataOf(await textOf(url))).toBe('data: {"part":["1"]}\n\nevent: signed-out\ndata: \n\n');
    expect(live!.size).toBe(0);
  });

  it('end after their time, so that a browser is let in anew', async () => {
    const { url } = await serving({ max_ms: 1 }, { every_ms: 1, parts: async () => partsOf(1) });
    expect(dataOf(await textOf(url))).toMatch(/^(data: .*\n\n)?$/);
    expect(live!.size).toBe(0);
  });

  it('go on after a failure, which is logged once, and say so', async () => {
    let asked = 0;
    const parts = async () => {
      if (++asked < 4) throw new Error('the store is away');
      if (asked === 6) live!.close();
      return asked === 4 ? {} : partsOf(asked);
    };
    const { url, warnings } = await serving({}, { every_ms: 1, parts });
    expect(dataOf(await textOf(url))).toMatch(
      /^(event: trouble\ndata: \n\n){3}event: well\ndata: \n\ndata: {"part":\["5"\]}\n\n$/,
    );
    expect(warnings).toEqual(['failed to update a live page']);
  });

  it('are bounded for a person, whatever the number of sessions, and in all', async () => {
    const source = { every_ms: 1000, parts: async () => partsOf(1) };
    const { url } = await serving({}, source);
    // One that is forgotten is closed at some time.
    const open: Response[] = [];
    const statuses = async (person: string, count: number) => {
      const sent = Array.from({ length: count }, () => fetch(url, { headers: { person } }));
      const answers = await Promise.all(sent);
      open.push(...answers);
      return answers.map(({ status }) => status).sort();
    };
    expect(await statuses('greedy', 64)).toEqual([...Array(8).fill(200), ...Array(56).fill(503)]);
    for (let others = 1; others < 8; others++)
      expect(await statuses(`other ${others}`, 8)).toEqual(Array(8).fill(200));
    expect([live!.size, await statuses('late', 1)]).toEqual([64, [503]]);
  });

  it('do not begin for a browser that left before', async () => {
    let asked = 0;
    const source = { every_ms: 1, parts: async () => partsOf(++asked) };
    live = new LiveStreams();
    let ended: Promise<unknown> | undefined;
    server = createServer((incoming, response) => {
      incoming.socket.destroy();
      const request = {
        path: 'live',
        query,
        session: personOf(incoming),
        incoming,
        response,
        isOpen: async () => true,
      };
      const context = { log: { warn: () => {} } as never };
      response.once('close', () => (ended = live!.serve({ ...request, context }, source)));
    });
    await new Promise<void>(resolve => server!.listen(0, '127.0.0.1', resolve));
    await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`).catch(() => {});
    await until(() => ended !== undefined);
    expect([live.size, asked]).toEqual([0, 0]);
    await ended;
  });

  it('are cut off from a reader that takes nothing, without collecting what it does not take', async () => {
    const large = 'x'.repeat(1_000_000);
    let asked = 0;
    const parts = async () => partsOf(`${large}${asked++}`);
    const { url } = await serving({ stalled_ms: 50 }, { every_ms: 1, parts });
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.on('error', () => {});
    socket.pause();
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    await until(() => live!.size === 1);
    await until(() => live!.size === 0);
    // What the kernel takes, and little more.
    expect(asked).toBeLessThan(50);
    socket.destroy();
  });

  it('end at once when they are closed, also while they wait', async () => {
    const { url, refused } = await serving({}, { every_ms: 3_600_000, parts: async () => partsOf(1) });
    const response = await fetch(url);
    const text = response.text();
    await until(() => live!.size === 1);
    live!.close();
    expect(dataOf(await text)).toBe('data: {"part":["1"]}\n\n');
    expect((await fetch(url)).status).toBe(503);
    expect(refused).toEqual([503]);
  });

  it('end when the reader leaves', async () => {
    const { url } = await serving({}, { every_ms: 3_600_000, parts: async () => partsOf(1) });
    const leaving = new AbortController();
    await fetch(url, { signal: leaving.signal });
    expect(live!.size).toBe(1);
    leaving.abort();
    await until(() => live!.size === 0);
  });
});
