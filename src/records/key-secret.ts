import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

const prefix = 'sk-sluice-';
const admin_prefix = 'sk-sluice-admin-';
const form = /^sk-sluice-([\w-]{43})([\w-]{6})$/;

/** SHA-256 of a key or any other random secret, 64 hexadecimal digits; the key itself is never stored. */
export const hashKey = (secret: string): string => hash('sha256', secret, 'hex');

type Secret = Readonly<Record<'key' | 'digest' | 'hint', string>>;

/**
 * A new key: 256 random bits behind a prefix that scanners for leaked secrets can find, before a checksum that detects typing errors. `key`
 * is shown once and not stored; `digest` is its SHA-256 in hexadecimal, and `hint` its last four characters, by which people tell keys apart.
 */
export const newSecret = (): Secret => secretBehind(prefix);

/** The same for the Admin API, behind a prefix of its own. */
export const newAdminSecret = (): Secret => secretBehind(admin_prefix);

function secretBehind(prefix: string): Secret {
  const random = randomBytes(32).toString('base64url');
  const key = `${prefix}${random}${checksum(random)}`;
  return { key, digest: hashKey(key), hint: key.slice(-4) };
}

/** Whether `newSecret` can have made `key`; any other need not be looked up. */
export function isStoredKeyForm(key: string): boolean {
  const [, random, sum] = form.exec(key) ?? [];
  return random !== undefined && checksum(random) === sum;
}

/** Whether `newAdminSecret` can have made `key`. */
export const isAdminKeyForm = (key: string): boolean =>
  key.startsWith(admin_prefix) && isStoredKeyForm(`${prefix}${key.slice(admin_prefix.length)}`);

function checksum(text: string): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc32(text));
  return bytes.toString('base64url');
}
