import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { selfSigned } from './self-signed-certificate.ts';

/** Files of a certificate for 127.0.0.1, which is its own authority. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
  remove(): Promise<void>;
}

/** Writes them; the certificate is valid for a day. */
export async function tlsFiles(): Promise<TlsFiles> {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-tls-'));
  const { cert, key } = selfSigned(new Date(Date.now() + 86_400_000));
  const files = { cert: join(directory, 'cert.pem'), key: join(directory, 'key.pem') };
  await writeFile(files.cert, cert);
  await writeFile(files.key, key);
  return { ...files, remove: () => rm(directory, { recursive: true, force: true }) };
}
