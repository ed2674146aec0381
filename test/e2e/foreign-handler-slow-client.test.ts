import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Request, Response } from 'express';
import { streamRechunk } from '../../src/index.ts';
import { allStages, chainOf, post, settlements } from '../support/chain-app.ts';
import { connected, proxied, requestOf } from '../support/chain-connection.ts';
import { alongside, closeApps, startApp } from '../support/express-app.ts';
import { ask, eventsOf } from '../support/gateway-under-test.ts';
import { completion, said } from '../support/hostile-setting.ts';
import { chunk, events, startScriptedUpstream, streamHead, whole } from '../support/scripted-upstream.ts';
import { until } from '../support/until.ts';

afterEach(closeApps);

const scripted = async (script: Parameters<typeof startScriptedUpstream>[0]) =>
  alongside(await startScriptedUpstream(script));

describe('a client that reads slowly', () => {
  /** An upstream that writes as fast as it may; how many bytes it could. */
  async function flood() {
    let written_bytes = 0;
    const part = chunk(events(...Array.from({ length: 100 }, () => said('x'.repeat(200)))));
    const upstream = await scripted(async socket => {
      socket.write(streamHead());
      while (!socket.destroyed) {
        written_bytes += part.length;
        if (!socket.write(part))
          await new Promise(resolve => socket.once('drain', resolve).once('close', resolve));
      }
    });
    return { upstream, written: () => written_bytes };
  }

  it('applies backpressure to the upstream, and is disconnected after slow_client_ms without reading', async () => {
    const { upstream, written } = await flood();
    const { app, outcomes } = await proxied(upstream, { slow_client_ms: 5000 });
    const connection = connected(app);
    connection.socket.pause();
    connection.write(requestOf(ask('Hello?', { stream: true })));
    // Until all buffers on the way are full.
    let before = -1;
    await until(async () => {
      const full = written() > 0 && written() === before;
      before = written();
      await sleep(250);
      return full;
    });
    expect(written()).toBeLessThan(64 * 1024 * 1024);
    expect(outcomes).toEqual([]);
    await until(() => outcomes.length > 0);
    expect(outcomes).toMatchObject([{ end_reason: 'slow_client' }]);
    expect(await upstream.last.closed).toBe('gateway');
  });

  it('receives a large stream whole', async () => {
    const content = 'x'.repeat(4000);
    const count = 10_000;
    let waits = 0;
    const upstream = await scripted(async socket => {
      socket.write(streamHead());
      for (let sent = 0; sent < count && !socket.destroyed; sent++) {
        if (socket.write(chunk(events(said(content))))) continue;
        waits++;
        await new Promise(resolve => socket.once('drain', resolve).once('close', resolve));
      }
      socket.write(chunk(events({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }, '[DONE]')));
      socket.write('0\r\n\r\n');
    });
    const { app, outcomes } = await proxied(upstream);
    const reply = await post(`${app.url}/v1/chat/completions`, ask('Hello?', { stream: true }));
    // Until all buffers on the way are full.
    let before = -1;
    await until(async () => {
      const full = waits > 0 && waits === before;
      before = waits;
      await sleep(250);
      return full;
    });
    const parts: Uint8Array[] = [];
    for await (const part of reply.body!) parts.push(part as Uint8Array);
    const all = eventsOf(Buffer.concat(parts).toString());
    const received = all.flatMap(({ json }) => json.choices?.[0]?.delta.content || []);
    expect(received).toHaveLength(count);
    expect(received.every(piece => piece === content)).toBe(true);
    expect(all.at(-1)?.data).toBe('[DONE]');
    expect(outcomes).toMatchObject([{ end_reason: 'completed', status: 200 }]);
  });

  it('is cut by the outermost chain alone, whatever chains within it allow', async () => {
    const content = 'x'.repeat(4000);
    const count = 5000;
    let waits = 0;
    const { outcomes, stage } = settlements();
    const app = await startApp(app => {
      app.use(chainOf([stage, ...allStages()]));
      app.use(chainOf([streamRechunk()], { slow_client_ms: 300 }), async (_: Request, response: Response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        for (let sent = 0; sent < count && !response.destroyed; sent++) {
          if (response.write(events(said(content)))) continue;
          waits++;
          await new Promise(resolve => response.once('drain', resolve).once('close', resolve));
        }
        response.end(events({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }, '[DONE]'));
      });
    });
    const reply = await post(`${app.url}/v1/chat/completions`, ask('Hello?', { stream: true }));
    let before = -1;
    await until(async () => {
      const full = waits > 0 && waits === before;
      before = waits;
      await sleep(500);
      return full;
    });
    const parts: Uint8Array[] = [];
    for await (const part of reply.body!) parts.push(part as Uint8Array);
    const all = eventsOf(Buffer.concat(parts).toString());
    expect(all.filter(({ json }) => json.choices?.[0]?.delta.content)).toHaveLength(count);
    expect(all.at(-1)?.data).toBe('[DONE]');
    await until(() => outcomes.length > 0);
    expect(outcomes).toMatchObject([{ end_reason: 'completed', status: 200 }]);
  });

  it('receives a large reply whole', async () => {
    const content = 'word '.repeat(1_000_000);
    const upstream = await scripted(whole(200, completion(content)));
    const { app, outcomes } = await proxied(upstream);
    const reply = await post(`${app.url}/v1/chat/completions`, ask('Hello?'));
    await sleep(300);
    expect(await reply.json()).toMatchObject({ choices: [{ message: { content }, finish_reason: 'stop' }] });
    expect(outcomes).toMatchObject([{ end_reason: 'completed', status: 200 }]);
  });
});
