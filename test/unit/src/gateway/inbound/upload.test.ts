import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { z } from 'zod';
import { bodyLimits } from '../../../../../src/config/server-limits.ts';
import { GatewayError } from '../../../../../src/gateway/exchange/errors.ts';
import type { BodyLimits } from '../../../../../src/gateway/inbound/body-limits.ts';
import { bufferLimits } from '../../../../../src/gateway/inbound/buffer-limits.ts';
import { BufferedBody, BufferedBytes } from '../../../../../src/gateway/inbound/buffered-bytes.ts';
import { bytesOf, UploadAborted } from '../../../../../src/gateway/inbound/upload.ts';
import { BodyMetrics } from '../../../../../src/telemetry/body-metrics.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { sampleExchange } from '../../../sample-exchange.ts';

function open(limits: Partial<BodyLimits>) {
  const clock = new FakeClock();
  const request = Object.assign(new PassThrough(), { headers: {}, complete: false });
  const checked = { ...z.object(bodyLimits).parse({}), ...limits };
  const exchange = sampleExchange({ start: { clock } });
  const body = new BufferedBody(
    new BufferedBytes(bufferLimits(checked), new BodyMetrics(new Registry())),
    exchange,
  );
  const received = bytesOf(request as unknown as IncomingMessage, checked, exchange, body);
  received.catch(() => {});
  return { clock, exchange, request, received };
}

/** Writes, and waits until what was written has been read. */
const write = (request: PassThrough, text: string) =>
  new Promise<void>(resolve => request.write(text, () => setImmediate(resolve)));

describe('the reading of an upload', () => {
  it('returns everything that arrived', async () => {
    const { request, received } = open({});
    for (const part of ['{"a"', ':1', '}']) await write(request, part);
    request.end();
    expect((await received).toString()).toBe('{"a":1}');
  });

  it('fails at the total deadline although no pause is long', async () => {
    const { clock, request, received } = open({ body_idle_ms: 1000, body_timeout_ms: 2400 });
    for (let at = 0; at < 3; at++) {
      await write(request, ' ');
      clock.advance(798);
    }
    await write(request, ' ');
    await expect(received).rejects.toMatchObject({
      status: 400,
      message: 'The request body did not arrive within 2.4 seconds.',
      headers: { connection: 'close' },
    });
  });

  it('fails at the total deadline where that is shorter than the idle timeout', async () => {
    const { received } = open({ body_idle_ms: 5000, body_timeout_ms: 20 });
    await expect(received).rejects.toThrow('The request body did not arrive within 0.02 seconds.');
  });

  it('leaves no timer behind that was set before the total deadline came near', async () => {
    const timers = () => process.getActiveResourcesInfo().filter(name => name === 'Timeout').length;
    const before = timers();
    const { clock, request, received } = open({ body_idle_ms: 60_000, body_timeout_ms: 100_000 });
    await write(request, '{');
    clock.advance(50_000);
    await write(request, '}');
    request.end();
    await received;
    expect(timers()).toBe(before);
  });

  it('fails when it comes in so many pieces that these take the memory', async () => {
    const { request, received } = open({ max_buffered_bytes: 100_000 });
    for (let at = 0; at < 200; at++) await write(request, ' ');
    await expect(received).rejects.toMatchObject({ status: 502, type: 'server_error' });
  });

  it('fails after a pause that is too long', async () => {
    const { request, received } = open({ body_idle_ms: 20 });
    await write(request, '{');
    await expect(received).rejects.toMatchObject({
      message: 'The request body did not arrive: nothing for 0.02 seconds.',
      headers: { connection: 'close' },
    });
  });

  it('is no matter of the exchange any more once it has failed: the rest can be discarded', async () => {
    const { exchange, request, received } = open({ max_body_bytes: 3 });
    await write(request, '1234');
    await expect(received).rejects.toMatchObject({ status: 413 });
    request.resume();
    exchange.abort('shutdown');
    expect([request.isPaused(), request.listenerCount('data')]).toEqual([false, 0]);
  });

  it.each([
    ['its client leaves', 'client_gone', {}],
    ['the gateway closes', 'shutdown', { type: 'server_error' }],
  ] as const)('fails when %s', async (_, how, refusal) => {
    const { exchange, received } = open({});
    if (how === 'client_gone') exchange.clientLeft();
    else exchange.abort(how);
    await expect(received).rejects.toMatchObject(refusal);
    await expect(received).rejects.toBeInstanceOf(how === 'client_gone' ? UploadAborted : GatewayError);
  });
});
