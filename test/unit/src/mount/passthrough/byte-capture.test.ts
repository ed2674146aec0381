import { expect, it } from '@jest/globals';
import { ByteCapture } from '../../../../../src/mount/passthrough/byte-capture.ts';

/** What is between the brackets of these parts, of `most` bytes at most. */
function between(parts: readonly string[], most: number, read: 'stop' | 'stopText') {
  const capture = new ByteCapture();
  for (const part of parts) {
    capture.begins(Buffer.from(part));
    const [from, to] = [part.indexOf('['), part.indexOf(']')];
    if (from !== -1) capture.start(from + 1, most);
    if (to !== -1) return capture[read](to)?.toString();
    capture.ends();
  }
  return capture[read](0)?.toString();
}

it.each<[string[], number, string | undefined]>([
  [['a[bcd]e'], 3, 'bcd'],
  [['a[bcd]e'], 2, undefined],
  [['a[]'], 0, ''],
  [['aaa[b', 'cd]e'], 3, 'bcd'],
  [['aaa[b', '', 'c', 'd]e'], 3, 'bcd'],
  [['aaa[b', 'cd]e'], 2, undefined],
  [['[bcde', ']'], 3, undefined],
  [['[x', '[yz]'], 2, 'yz'],
  [['abc]'], 9, undefined],
])('captures of %j at most %d bytes: %j', (parts, most, expected) => {
  expect([between(parts, most, 'stop'), between(parts, most, 'stopText')]).toEqual([expected, expected]);
});
