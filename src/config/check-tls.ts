import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { ConfigIssue } from '../common/config-error.ts';
import { CertificateProblem, readCertificate, type TlsConfig, timeLeft } from './certificate-files.ts';

/** The sections of a configuration that may have `tls`. */
interface Listeners {
  readonly server: { readonly tls?: TlsConfig | undefined };
  readonly admin: { readonly tls?: TlsConfig | undefined };
}

const sections = ['server', 'admin'] as const;

/** `section` with the paths of its certificate below `directory`. */
export function withTlsPaths<S extends { readonly tls?: TlsConfig | undefined }>(
  section: S,
  directory: string,
): S {
  const { tls } = section;
  if (!tls) return section;
  const { cert_file, key_file, client_ca_file } = tls;
  const paths = { cert_file: resolve(directory, cert_file), key_file: resolve(directory, key_file) };
  const authorities = client_ca_file && { client_ca_file: resolve(directory, client_ca_file) };
  return { ...section, tls: { ...tls, ...paths, ...authorities } };
}

/** Certificates that cannot be used. */
export function* checkTls(config: Listeners, directory: string): Generator<ConfigIssue> {
  for (const section of sections) {
    const { tls } = withTlsPaths(config[section], directory);
    try {
      if (tls) readCertificate(tls);
    } catch (thrown) {
      if (!(thrown instanceof CertificateProblem)) throw thrown;
      yield { path: [section, 'tls', thrown.field], message: thrown.message };
    }
  }
}

/** Sentences about keys that others can read and certificates that end soon, of listeners without mistakes whose paths are absolute. */
export function* tlsWarnings(listeners: Listeners): Generator<string> {
  for (const section of sections) {
    const { tls } = listeners[section];
    if (!tls) continue;
    const { ends_ms } = readCertificate(tls);
    const end = new Date(ends_ms).toISOString();
    const left = timeLeft(ends_ms, Date.now());
    if (left === 'none')
      yield `${section}.tls.cert_file: the certificate expired at ${end}: clients refuse to connect`;
    if (left === 'little') yield `${section}.tls.cert_file: the certificate expires soon, at ${end}`;
    const mode = statSync(tls.key_file).mode & 0o777;
    if (mode & 0o004)
      yield `${section}.tls.key_file: every user of this machine can read it (mode ${mode.toString(8)}); chmod 640, or less`;
  }
}
