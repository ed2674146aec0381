import { randomBytes, randomFillSync } from 'node:crypto';

const random_bytes = 16;
/** Random bytes for the next ids. `randomUUID` joins each id from parts, which takes eight times the garbage. */
const pool = Buffer.alloc(256 * random_bytes);
let taken_bytes = pool.length;

/** 32 random hexadecimal digits, as of a UUID. */
export function randomId(): string {
  if (taken_bytes === pool.length) {
    randomFillSync(pool);
    taken_bytes = 0;
  }
  taken_bytes += random_bytes;
  return pool.toString('hex', taken_bytes - random_bytes, taken_bytes);
}

/** Ids that sort by the time at which they were made, so that the newest rows of a table and of its indexes lie together. */

/** The beginning of the last id, kept because many are made in one millisecond. */
let latest = { epoch_ms: Number.NaN, time: '' };

/** The end of all ids of this process. */
const process_id = randomBytes(6).toString('hex');
const max_count = 0x1000000;
let count = 0;

/** A UUID of version 7: the time, a count of 24 bits, and 48 random bits of the process. */
export function timeOrderedUuid(epoch_ms: number): string {
  if (latest.epoch_ms !== epoch_ms) latest = { epoch_ms, time: firstUuidOf(epoch_ms) };
  count = (count + 1) % max_count;
  return `${latest.time}${hexOf(count >> 12)}-8${hexOf(count & 0xfff)}-${process_id}`;
}

/** Three hexadecimal digits. */
const hexOf = (number: number): string => (0x1000 + number).toString(16).slice(1);

/** The last time that such a UUID can have, in the year 10889. */
const max_ms = 0xffffffffffff;

/** Sorts before every such UUID of this time or a later one, and behind those of earlier times. */
export function firstUuidOf(epoch_ms: number): string {
  const time = Math.min(Math.max(0, Math.floor(epoch_ms)), max_ms)
    .toString(16)
    .padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7`;
}

/** Unix time in milliseconds at which such a UUID was made; `Infinity` for any other text. */
export function timeOfUuid(id: string): number {
  const [, high, low] = /^([0-9a-f]{8})-([0-9a-f]{4})-7/.exec(id) ?? [];
  return high === undefined ? Number.POSITIVE_INFINITY : Number.parseInt(high + low, 16);
}

/** Without letters that are easily confused. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';

/** `key_`, or another kind, and 18 characters: short enough to be typed, unlikely enough to be made twice. */
export function keyId(epoch_ms: number, kind = 'key'): string {
  let time = '';
  for (let rest = Math.floor(epoch_ms), at = 0; at < 10; at++) {
    time = alphabet[rest % 32]! + time;
    rest = Math.floor(rest / 32);
  }
  return `${kind}_${time}${[...randomBytes(8)].map(byte => alphabet[byte % 32]).join('')}`;
}
