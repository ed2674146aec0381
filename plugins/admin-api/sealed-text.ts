import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const algorithm = 'aes-256-gcm';
const iv_bytes = 12;
const tag_bytes = 16;

/** `text`, encrypted with a secret of 32 bytes. */
export function sealed(text: string, secret: Buffer): string {
  const iv = randomBytes(iv_bytes);
  const cipher = createCipheriv(algorithm, secret, iv);
  const bytes = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), bytes]).toString('base64url');
}

/** The text that was encrypted. Throws for another secret. */
export function opened(text: string, secret: Buffer): string {
  const bytes = Buffer.from(text, 'base64url');
  const decipher = createDecipheriv(algorithm, secret, bytes.subarray(0, iv_bytes));
  decipher.setAuthTag(bytes.subarray(iv_bytes, iv_bytes + tag_bytes));
  const content = bytes.subarray(iv_bytes + tag_bytes);
  return Buffer.concat([decipher.update(content), decipher.final()]).toString('utf8');
}
