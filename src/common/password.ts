import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

const derive = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt);

const key_bytes = 32;
/** Costs 32 MiB and about 60 ms per attempt. */
const cost = { N: 2 ** 15, r: 8, p: 1 } as const;
const form = /^scrypt:(\d{4,7}):(\d{1,2}):(\d{1,2}):([\w-]{16,86}):([\w-]{22,86})$/;

interface PasswordHash {
  readonly cost: { readonly N: number; readonly r: number; readonly p: number };
  readonly salt: Buffer;
  readonly key: Buffer;
}

/** `scrypt:N:r:p:SALT:KEY`, base64url: no character that a shell or YAML would take for its own. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const key = await derived(password, { cost, salt, key: Buffer.alloc(key_bytes) });
  const { N, r, p } = cost;
  return ['scrypt', N, r, p, salt.toString('base64url'), key.toString('base64url')].join(':');
}

/** Whether `text` is what `hashPassword` makes, at a cost that this process can pay. */
export const isPasswordHash = (text: string): boolean => parsed(text) !== undefined;

/** Checks a password in a time that does not depend on it. False for an invalid hash. */
export async function isPassword(password: string, hash: string): Promise<boolean> {
  const known = parsed(hash);
  return known !== undefined && timingSafeEqual(await derived(password, known), known.key);
}

function parsed(text: string): PasswordHash | undefined {
  const [, ...fields] = form.exec(text) ?? [];
  if (fields.length === 0) return undefined;
  const [N, r, p] = fields.slice(0, 3).map(Number) as [number, number, number];
  const [salt, key] = fields.slice(3).map(field => Buffer.from(field, 'base64url')) as [Buffer, Buffer];
  const isPowerOfTwo = (N & (N - 1)) === 0;
  // At most 256 MiB, at least what is made here by half.
  if (!isPowerOfTwo || N < 2 ** 14 || r < 8 || p < 1 || p > 16 || 128 * N * r > 2 ** 28) return undefined;
  return { cost: { N, r, p }, salt, key };
}

/** Normalizes Unicode: keyboards differ in how they write an accent. */
function derived(password: string, { cost: { N, r, p }, salt, key }: PasswordHash): Promise<Buffer> {
  return derive(password.normalize('NFC'), salt, key.length, { N, r, p, maxmem: 256 * N * r });
}
