import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { z } from 'zod';
import { day_ms } from '../common/durations.ts';
import { FileProblem, readSmallFile } from '../common/small-file.ts';

const file = z.string().min(1, 'must be the path of a file').meta({ shown: true });

/** TLS on a listener. */
export const tlsSchema = z.strictObject({
  cert_file: file.describe(
    'File with the certificate and those between it and its root, in PEM. Read again when it changes. Paths begin at the folder of the configuration.',
  ),
  key_file: file.describe(
    'File with the private key of the certificate, in PEM, without a passphrase. Read again when it changes.',
  ),
  client_ca_file: file
    .optional()
    .describe(
      'File with authorities in PEM. Only clients with a certificate of one of them may connect; they need a key as well. Read again when it changes.',
    ),
  min_version: z
    .enum(['TLSv1.2', 'TLSv1.3'])
    .default('TLSv1.2')
    .describe('Oldest version of TLS that is accepted. Changes with a restart.'),
});

/** TLS on a listener: the paths of its files, and what clients must speak. */
export type TlsConfig = z.output<typeof tlsSchema>;

type CertificateField = 'cert_file' | 'key_file' | 'client_ca_file';

/** Why the files of a certificate cannot be used, and which of them is at fault. */
export class CertificateProblem extends Error {
  override readonly name = 'CertificateProblem';
  readonly field: CertificateField;

  constructor(field: CertificateField, message: string, options?: ErrorOptions) {
    super(message, options);
    this.field = field;
  }
}

/** A certificate with its key, as TLS takes them. */
export interface LoadedCertificate {
  readonly cert: string;
  readonly key: string;
  /** Authorities of client certificates. */
  readonly ca: string | undefined;
  /** Unix milliseconds at which the first certificate of the chain ends. */
  readonly ends_ms: number;
}

/** Bundles of all public authorities have 250 kB. */
const max_bytes = 512 * 1024;

/** The certificate in `files`. Throws a CertificateProblem if they cannot be read, are not in PEM or do not fit together. */
export function readCertificate(files: TlsConfig): LoadedCertificate {
  const cert = textOf(files, 'cert_file');
  const key = textOf(files, 'key_file');
  const ca = files.client_ca_file === undefined ? undefined : textOf(files, 'client_ca_file');
  const chain = certificatesIn(cert, 'cert_file');
  if (!chain[0]!.checkPrivateKey(privateKey(key)))
    throw new CertificateProblem('key_file', 'is not the key of the first certificate in cert_file');
  if (ca !== undefined) certificatesIn(ca, 'client_ca_file');
  try {
    createSecureContext({ cert, key, ca, minVersion: files.min_version });
  } catch (cause) {
    throw new CertificateProblem('cert_file', `cannot be used: ${reasonOf(cause)}`, { cause });
  }
  return { cert, key, ca, ends_ms: Math.min(...chain.map(({ validToDate }) => validToDate.getTime())) };
}

/** Tools renew a certificate a month before its end. */
const soon_ms = 14 * day_ms;

/** Whether a certificate that ends at `ends_ms` can still be used: `little` is less than two weeks. */
export function timeLeft(ends_ms: number, now_ms: number): 'none' | 'little' | 'enough' {
  if (ends_ms <= now_ms) return 'none';
  return ends_ms - now_ms < soon_ms ? 'little' : 'enough';
}

function textOf(files: TlsConfig, field: CertificateField): string {
  try {
    return readSmallFile(files[field]!, max_bytes);
  } catch (cause) {
    if (!(cause instanceof FileProblem)) throw cause;
    throw new CertificateProblem(field, `the file ${files[field]} ${cause.message}`, { cause });
  }
}

function certificatesIn(text: string, field: CertificateField): readonly X509Certificate[] {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g);
  if (!blocks) throw new CertificateProblem(field, 'has no certificate in PEM (-----BEGIN CERTIFICATE-----)');
  return blocks.map((block, at) => {
    try {
      return new X509Certificate(block);
    } catch (cause) {
      const which = `certificate number ${at + 1} in it`;
      throw new CertificateProblem(field, `${which} cannot be read: ${reasonOf(cause)}`, { cause });
    }
  });
}

function privateKey(text: string): KeyObject {
  try {
    return createPrivateKey(text);
  } catch (cause) {
    const message = text.includes('ENCRYPTED')
      ? 'has a passphrase; write the key without one: openssl pkey -in KEY -out NEW'
      : 'has no private key in PEM (-----BEGIN PRIVATE KEY-----)';
    throw new CertificateProblem('key_file', message, { cause });
  }
}

/** OpenSSL's own words, which contain nothing of the files. */
const reasonOf = (cause: unknown): string =>
  String((cause as { reason?: string }).reason ?? (cause as Error).message);
