import { describe, expect, it } from '@jest/globals';
import { bufferLimits } from '../../../../../src/gateway/inbound/buffer-limits.ts';

const MiB = 1024 * 1024;
const GiB = 1024 * MiB;
const max_body_bytes = 16 * MiB;
const limitsOf = (heap_MiB: number, container_MiB: number, more: Parameters<typeof bufferLimits>[0]) => {
  const memory = { heap_bytes: heap_MiB * MiB, container_bytes: container_MiB * MiB };
  const { total_bytes, account_bytes } = bufferLimits(more, memory);
  return [Math.floor(total_bytes / MiB), Math.floor(account_bytes / MiB)];
};

describe('the default limits of the memory of request bodies', () => {
  it.each([
    ['a container of 1 GiB, of which Node takes half as its heap', 512, 1024, 256, 80],
    ['a container of 2 GiB', 1024, 2048, 512, 128],
    ['a container of 512 MiB', 256, 512, 85, 80],
    ['a container of 256 MiB', 128, 256, 32, 32],
    ['a heap of 512 MiB on a large machine', 512, 64 * 1024, 256, 80],
    ['a heap as large as its container', 1024, 1024, 256, 80],
  ])('follow from %s', (_, heap_MiB, container_MiB, total_MiB, account_MiB) => {
    expect(limitsOf(heap_MiB, container_MiB, { max_body_bytes })).toEqual([total_MiB, account_MiB]);
  });

  it('are for each worker what its share of the container allows', () => {
    expect(limitsOf(2048, 4096, { max_body_bytes })).toEqual([1024, 256]);
    expect(limitsOf(2048, 4096, { max_body_bytes, workers: 4 })).toEqual([256, 80]);
  });

  it('give an account at least what one largest body takes', () => {
    expect(limitsOf(1024, 2048, { max_body_bytes: 64 * MiB })).toEqual([512, 320]);
    expect(limitsOf(1024, 2048, { max_body_bytes: MiB })).toEqual([512, 128]);
  });

  it('yield to what is configured, each by itself', () => {
    const total = { max_body_bytes, max_buffered_bytes: GiB };
    expect(limitsOf(512, 1024, total)).toEqual([1024, 256]);
    const account = { max_body_bytes, max_buffered_bytes_per_account: 64 * MiB };
    expect(limitsOf(512, 1024, account)).toEqual([256, 64]);
  });
});
