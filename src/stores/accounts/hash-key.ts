import { hash } from 'node:crypto';

/** What is kept of a key, or of any secret that is random enough: its SHA-256, 64 hexadecimal digits (protocol a4). */
export const hashKey = (secret: string): string => hash('sha256', secret, 'hex');
