import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

const id_bytes = 12;
const mac_bytes = 20;

/**
 * Cookie of a browser that has signed in: an id and a signature that only an operator's password hash can make, 43 characters in base64url.
 * It gives no access; it only counts this browser's failures apart from those of strangers. A new password invalidates it.
 */
export function knownBrowserCookie(name: string, password_hash: string): string {
  const id = randomBytes(id_bytes);
  return Buffer.concat([id, signatureOf(id, name, password_hash)]).toString('base64url');
}

/** Id in a cookie made for this operator; undefined for any other. */
export function knownBrowserOf(cookie: string, name: string, password_hash: string): string | undefined {
  const bytes = Buffer.from(cookie, 'base64url');
  if (bytes.length !== id_bytes + mac_bytes) return undefined;
  const id = bytes.subarray(0, id_bytes);
  const isGenuine = timingSafeEqual(bytes.subarray(id_bytes), signatureOf(id, name, password_hash));
  return isGenuine ? id.toString('base64url') : undefined;
}

const signatureOf = (id: Buffer, name: string, password_hash: string): Buffer =>
  createHmac('sha256', password_hash).update(id).update(name).digest().subarray(0, mac_bytes);
