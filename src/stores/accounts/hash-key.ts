import { hash } from 'node:crypto';

/** SHA-256 of a key or any other random secret, 64 hexadecimal digits; the key itself is never stored (protocol a4). */
export const hashKey = (secret: string): string => hash('sha256', secret, 'hex');
