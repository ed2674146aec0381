import { hash } from 'node:crypto';

/** SHA-256 of a key or any other random secret, 64 hexadecimal digits; the key itself is never stored. */
export const hashKey = (secret: string): string => hash('sha256', secret, 'hex');
