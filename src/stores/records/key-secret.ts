import { randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { hashKey } from '../accounts/hash-key.ts';

const prefix = 'sk-sluice-';
const form = /^sk-sluice-([\w-]{43})([\w-]{6})$/;

/** A new key: its text, to be shown once and kept nowhere, and what is kept of it. */
export interface NewSecret {
  readonly key: string;
  /** SHA-256, 64 hexadecimal digits. */
  readonly digest: string;
  /** The last four characters, by which people tell keys apart. */
  readonly hint: string;
}

/** 256 random bits behind a prefix that scanners for leaked secrets can find, before a checksum that detects typing errors. */
export function newSecret(): NewSecret {
  const random = randomBytes(32).toString('base64url');
  const key = `${prefix}${random}${checksum(random)}`;
  return { key, digest: hashKey(key), hint: key.slice(-4) };
}

/** Whether `key` can be one that `newSecret` made; any other need not be looked up anywhere. */
export function isStoredKeyForm(key: string): boolean {
  const [, random, sum] = form.exec(key) ?? [];
  return random !== undefined && checksum(random) === sum;
}

function checksum(text: string): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc32(text));
  return bytes.toString('base64url');
}
