import tls from 'node:tls';

/**
 * Lets this process trust a certificate until the function that it returns is called, in whatever order several are given up.
 * The test environment takes back what a test file has left.
 */
export function trustCertificate(cert: string): () => void {
  const added = cert.trim();
  tls.setDefaultCACertificates([...tls.getCACertificates('default'), added]);
  return () =>
    tls.setDefaultCACertificates(tls.getCACertificates('default').filter(other => other.trim() !== added));
}
