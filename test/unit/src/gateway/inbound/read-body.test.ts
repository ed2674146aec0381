import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { z } from 'zod';
import { bodyLimits } from '../../../../../src/config/server-limits.ts';
import { BufferedBody, BufferedBytes } from '../../../../../src/gateway/inbound/buffered-bytes.ts';
import { decompressed } from '../../../../../src/gateway/inbound/decompress.ts';
import { parseBody, readBody } from '../../../../../src/gateway/inbound/read-body.ts';
import { BodyMetrics } from '../../../../../src/telemetry/body-metrics.ts';
import { sampleExchange } from '../../../sample-exchange.ts';

const MiB = 1024 * 1024;
const limits = z.object(bodyLimits).parse({});

/** A body on which nothing has been counted, and the memory that is counted now. */
function open(total_bytes = 1024 * MiB) {
  const registry = new Registry();
  const metrics = new BodyMetrics(registry);
  const exchange = sampleExchange();
  const body = new BufferedBody(
    new BufferedBytes({ total_bytes, account_bytes: total_bytes }, metrics),
    exchange,
  );
  const counted = async () =>
    (await registry.getSingleMetric('sluice_buffered_request_bytes')!.get()).values[0]!.value;
  return { body, exchange, counted };
}

/** Memory of `{"a":"…"}`: two values and a key. */
const around = 2 * 64 + 128;
const textBody = (text: string) => Buffer.from(`{"a":"${text}"}`);

describe('the memory of a body', () => {
  it.each<[string, Buffer, number, number]>([
    ['its bytes and as many characters where all are ASCII', textBody('x'.repeat(1000)), 1008, 1],
    ['two bytes for each character where one is not Latin-1', textBody(`${' '.repeat(997)}€`), 1006, 2],
    ['two bytes for each character where one is written with an escape', textBody('\\u20ac'), 14, 2],
    ['two bytes for each character of Chinese', textBody('漢'.repeat(1000)), 1008, 2],
  ])('is %s', async (_, bytes, characters, width) => {
    const { body, counted } = open();
    parseBody(bytes, limits, body);
    expect(await counted()).toBe(bytes.length + width * characters + around);
  });

  it('has its values and keys, whether it was long enough to count them before it was parsed or not', async () => {
    for (const count of [1000, 299_000]) {
      const { body, counted } = open();
      const bytes = Buffer.from(`{"a":[${Array(count).fill('{}')}]}`);
      parseBody(bytes, limits, body);
      expect(await counted()).toBe(2 * bytes.length + (count + 2) * 64 + 128);
    }
  });

  it('is refused before it is parsed where the objects would not fit', async () => {
    const { body } = open(16 * MiB);
    // Invalid JSON would be answered with 400.
    const bytes = Buffer.from(`{"a":[${Array(299_000).fill('{}')}]`);
    expect(() => parseBody(bytes, limits, body)).toThrow(expect.objectContaining({ status: 502 }));
  });

  it('is counted while it is decompressed, twice for its bytes', async () => {
    const bytes = gzipSync(' '.repeat(500_000));
    const { body, counted } = open();
    await decompressed(bytes, 'gzip', limits, body);
    expect(await counted()).toBe(1_000_000);
    await expect(decompressed(bytes, 'gzip', limits, open(999_999).body)).rejects.toMatchObject({
      status: 502,
    });
  });

  it('is that of the plain body once a compressed one is read', async () => {
    const bytes = textBody('x'.repeat(1000));
    const { body, exchange, counted } = open();
    const headers = { 'content-encoding': 'gzip' };
    const request = Object.assign(Readable.from([gzipSync(bytes)]), { headers, complete: false });
    await readBody(request as unknown as IncomingMessage, limits, exchange, body);
    expect(await counted()).toBe(2 * bytes.length + around);
  });

  it('shrinks by the copy for the upstream once that is sent', async () => {
    const { body, counted } = open();
    const bytes = textBody('x'.repeat(1000));
    parseBody(bytes, limits, body);
    body.sent();
    body.sent();
    expect(await counted()).toBe(bytes.length + around);
    body.release();
    expect(await counted()).toBe(0);
  });

  it.each<[string, object, number]>([
    ['the length that its client has sent', { 'content-length': '1008' }, 1008],
    [
      'three bytes for each character where it was sent in chunks',
      { 'transfer-encoding': 'chunked' },
      3 * 1001,
    ],
    [
      'three bytes for each character where it was compressed',
      { 'content-length': '40', 'content-encoding': 'gzip' },
      3 * 1001,
    ],
  ])('that the application has parsed has its tree twice, and %s', async (_, headers, sent_bytes) => {
    const { body, exchange, counted } = open();
    const request = { headers, body: { a: 'x'.repeat(1000) } } as unknown as IncomingMessage;
    await readBody(request, limits, exchange, body);
    expect(await counted()).toBe(sent_bytes + 2 * 1001 + 2 * around);
  });

  it('that the application has parsed is refused above the limits', () => {
    const { body, exchange } = open(4000);
    const request = { headers: {}, body: { a: 'x'.repeat(1000) } } as unknown as IncomingMessage;
    expect(() => readBody(request, limits, exchange, body)).toThrow(expect.objectContaining({ status: 502 }));
  });
});
