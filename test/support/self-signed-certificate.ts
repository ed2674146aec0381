import { generateKeyPairSync, randomUUID, sign } from 'node:crypto';

/** A private key and a certificate of it, in PEM. */
export interface SelfSigned {
  readonly key: string;
  readonly cert: string;
}

const bytes = (hex: string) => Buffer.from(hex, 'hex');

/** A value in DER. */
function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

const sequence = (...parts: readonly Buffer[]) => der(0x30, ...parts);
const bitString = (content: Buffer) => der(0x03, bytes('00'), content);
const oid = (hex: string) => der(0x06, bytes(hex));
/** Of years before 2050. */
const time = (moment: Date) =>
  der(0x17, Buffer.from(`${moment.toISOString().replace(/\D/g, '').slice(2, 14)}Z`, 'ascii'));
const ecdsaWithSha256 = sequence(oid('2a8648ce3d040302'));

/** A certificate for 127.0.0.1 and the names in `hosts`, signed by its own key, that ends at `ends` to the second. Its name is its own: of two trusted ones with one name OpenSSL finds the first only. */
export function selfSigned(ends: Date, hosts: readonly string[] = []): SelfSigned {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = sequence(
    der(0x31, sequence(oid('550403'), der(0x0c, Buffer.from(`127.0.0.1 ${randomUUID()}`)))),
  );
  const names = hosts.map(host => der(0x82, Buffer.from(host, 'ascii')));
  const addresses = sequence(oid('551d11'), der(0x04, sequence(der(0x87, bytes('7f000001')), ...names)));
  const authority = sequence(oid('551d13'), der(0x04, sequence(der(0x01, bytes('ff')))));
  const content = sequence(
    der(0xa0, der(0x02, bytes('02'))),
    der(0x02, bytes('01')),
    ecdsaWithSha256,
    name,
    sequence(time(new Date(Date.now() - 86_400_000)), time(ends)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(addresses, authority)),
  );
  const signed = sequence(content, ecdsaWithSha256, bitString(sign('sha256', content, privateKey)));
  const lines = signed.toString('base64').match(/.{1,64}/g) ?? [];
  const cert = ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
  return { key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), cert };
}
