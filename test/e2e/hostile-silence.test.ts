import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  bothWays,
  closeHealthy,
  expectBrokenStream,
  expectRefusal,
  expectWholeStream,
  finished,
  hostileSetting,
  said,
} from '../support/hostile-setting.ts';
import { chunk, events, head, lastChunk, streamHead } from '../support/scripted-upstream.ts';

afterEach(closeHealthy);

const brokeOff = 'The upstream provider closed the stream unexpectedly.';

/** The HTTP client's timers are coarse: a second asked may be two. */
const impatient = { provider: { idle_timeout_ms: 500 } };

describe('a silent upstream', () => {
  it.each(bothWays)('causes a 502 before its headers ($way)', async ({ stream }) => {
    const { upstream, send, gateway } = await hostileSetting(impatient);
    upstream.reply(() => {});
    await expectRefusal(await send(stream), 502, 'provider_error');
    expect(await upstream.last.closed).toBe('gateway');
    expect(await gateway.metric('sluice_upstream_errors_total', { kind: 'timeout' })).toBe(1);
  });

  it('causes a 502 within its headers', async () => {
    const { upstream, send } = await hostileSetting(impatient);
    upstream.reply('HTTP/1.1 200 OK\r\ncontent-type: text/ev');
    await expectRefusal(await send(true), 502, 'provider_error');
    expect(await upstream.last.closed).toBe('gateway');
  });

  it('causes a 502 within a whole reply', async () => {
    const { upstream, send } = await hostileSetting(impatient);
    upstream.reply(`${head(200, { 'content-type': 'application/json', 'content-length': 500 })}{"choices":[`);
    await expectRefusal(await send(false), 502, 'provider_error');
    expect(await upstream.last.closed).toBe('gateway');
  });

  it('causes a 502 before its first event', async () => {
    const { upstream, send } = await hostileSetting(impatient);
    upstream.reply(streamHead());
    await expectRefusal(await send(true), 502, 'provider_error');
    expect(await upstream.last.closed).toBe('gateway');
  });

  it('keeps its error status when it stops within the error body', async () => {
    const { upstream, send } = await hostileSetting(impatient);
    upstream.reply(`${head(404, { 'content-type': 'application/json', 'content-length': 500 })}{"error":`);
    await expectRefusal(await send(true), 400, 'configuration_error');
    expect(await upstream.last.closed).toBe('gateway');
  });

  it('causes an error event and [DONE] in the middle of its stream', async () => {
    const { upstream, stream, gateway } = await hostileSetting(impatient);
    upstream.reply(Buffer.concat([Buffer.from(streamHead()), chunk(events(said('Hello'), said(' there')))]));
    expectBrokenStream(await stream(), 'Hello there', 'provider_error', brokeOff);
    expect(await upstream.last.closed).toBe('gateway');
    expect(await gateway.metric('sluice_upstream_errors_total', { kind: 'timeout' })).toBe(1);
  });

  it('causes an error event and [DONE] in the middle of an event', async () => {
    const { upstream, stream } = await hostileSetting(impatient);
    upstream.reply(Buffer.concat([Buffer.from(streamHead()), chunk(`${events(said('Hello'))}data: {"cho`)]));
    expectBrokenStream(await stream(), 'Hello', 'provider_error', brokeOff);
  });

  it('causes no error when only [DONE] is missing', async () => {
    const { upstream, stream } = await hostileSetting(impatient);
    upstream.reply(Buffer.concat([Buffer.from(streamHead()), chunk(events(said('Hello'), finished()))]));
    expectWholeStream(await stream(), 'Hello');
    expect(await upstream.last.closed).toBe('gateway');
  });

  it('is not one whose pauses are shorter than idle_timeout_ms', async () => {
    const { upstream, stream } = await hostileSetting({ provider: { idle_timeout_ms: 1500 } });
    upstream.reply(async socket => {
      socket.write(streamHead());
      for (let time = 0; time < 8; time++) {
        socket.write(chunk(events(said('.'))));
        await sleep(350);
      }
      socket.write(Buffer.concat([chunk(events(finished(), '[DONE]')), Buffer.from(lastChunk)]));
    });
    expectWholeStream(await stream(), '........');
  });
});
