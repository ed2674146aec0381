import { generateKeyPairSync } from 'node:crypto';
import { chmodSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { readCertificate } from '../../../../src/config/certificate-files.ts';
import { loadConfig } from '../../../../src/config/load.ts';
import { selfSigned } from '../../../support/self-signed-certificate.ts';
import { mistakesOf, sampleConfig, temporaryFiles } from './sample-config.ts';

const file = temporaryFiles();
const day_ms = 86_400_000;
const inDays = (days: number) => selfSigned(new Date(Date.now() + days * day_ms));
const [pair, other] = [inDays(365), inDays(300)];

/** A configuration with these files, which it names relative to its own folder. */
function written(section: string, { cert, key }: { cert: string; key: string }, more = ''): string {
  chmodSync(file('tls/key.pem', key), 0o600);
  file('tls/cert.pem', cert);
  return file(
    'sluice.json',
    JSON.stringify(
      sampleConfig({ accounts: { a: { keys: [{ value: 'sk-0123456789' }] } } }),
      null,
      1,
    ).replace(
      /^{/,
      `{\n "${section}": { "tls": {\n  "cert_file": "tls/cert.pem",\n  "key_file": "tls/key.pem"${more} } },`,
    ),
  );
}

describe('the certificate of a listener', () => {
  it.each(['server', 'admin'] as const)(
    'is found beside the configuration that names it for %s',
    async section => {
      const path = written(section, pair);
      const { [section]: settings, warnings } = await loadConfig(path);
      expect(settings.tls).toEqual({
        cert_file: `${dirname(path)}/tls/cert.pem`,
        key_file: `${dirname(path)}/tls/key.pem`,
        min_version: 'TLSv1.2',
      });
      expect(warnings).toEqual([]);
    },
  );

  const locked = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' },
  }).privateKey;
  it.each<[string, { cert: string; key: string }, string]>([
    [
      'the key of another certificate',
      { cert: pair.cert, key: other.key },
      'key_file (line 4): is not the key of the first certificate in cert_file',
    ],
    [
      'a certificate in the place of the key',
      { cert: pair.cert, key: pair.cert },
      'key_file (line 4): has no private key in PEM (-----BEGIN PRIVATE KEY-----)',
    ],
    [
      'a key with a passphrase',
      { cert: pair.cert, key: locked },
      'key_file (line 4): has a passphrase; write the key without one: openssl pkey -in KEY -out NEW',
    ],
    [
      'a key in the place of the certificate',
      { cert: pair.key, key: pair.key },
      'cert_file (line 3): has no certificate in PEM (-----BEGIN CERTIFICATE-----)',
    ],
  ])('is refused with its place: %s', async (_, files, message) => {
    const mistakes = await mistakesOf(written('server', files));
    expect(mistakes).toEqual([`server.tls.${message}`]);
  });

  it('is refused when a certificate of its chain is broken, or a file is missing', async () => {
    const broken = pair.cert.replace(/M/, '!');
    expect(await mistakesOf(written('server', { cert: pair.cert + broken, key: pair.key }))).toEqual([
      expect.stringMatching(
        /^server\.tls\.cert_file \(line 3\): certificate number 2 in it cannot be read: /,
      ),
    ]);
    const path = written('server', pair, ', "client_ca_file": "none.pem"');
    expect(await mistakesOf(path)).toEqual([
      `server.tls.client_ca_file (line 4): the file ${dirname(path)}/none.pem does not exist`,
    ]);
  });

  it('is warned about when it ends soon or has ended, and when everybody can read its key', async () => {
    const warningsOf = async (path: string) => (await loadConfig(path)).warnings;
    expect(await warningsOf(written('server', inDays(13.5)))).toEqual([
      expect.stringMatching(/^server\.tls\.cert_file: the certificate expires soon, at .*Z$/),
    ]);
    expect(await warningsOf(written('server', inDays(-0.5)))).toEqual([
      expect.stringMatching(
        /^server\.tls\.cert_file: the certificate expired at .*: clients refuse to connect$/,
      ),
    ]);
    const path = written('server', pair);
    chmodSync(file('tls/key.pem', pair.key), 0o644);
    expect(await warningsOf(path)).toEqual([
      'server.tls.key_file: every user of this machine can read it (mode 644); chmod 640, or less',
    ]);
  });

  it('ends with the first of its chain', () => {
    const files = {
      cert_file: file('chain.pem', pair.cert + inDays(100).cert),
      key_file: file('k.pem', pair.key),
    };
    const { ends_ms } = readCertificate({ ...files, min_version: 'TLSv1.3' });
    expect(Math.round((ends_ms - Date.now()) / day_ms)).toBe(100);
  });
});
