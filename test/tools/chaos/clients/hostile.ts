import { constants, gzipSync } from 'node:zlib';
import { isRejected } from './checks.ts';
import { chat, continuous, type Kind, kind, plain, post, simulated, streaming } from './request.ts';

const head = '{"model":"aion-labs/aion-3.5","messages":';

/** Made once: what costs a client a few bytes and a careless server everything. */
const bodies: Readonly<Record<string, () => string | Buffer>> = {
  'gzip bomb of zeros': once(() => gzipSync(Buffer.alloc(200 * 2 ** 20), { level: constants.Z_BEST_SPEED })),
  'gzip bomb of elements': once(() => gzipSync(`${head}[${'{},'.repeat(5_000_000)}{}]}`)),
  'millions of elements': once(() => `${head}[${'0,'.repeat(500_000)}0]}`),
  'millions of parts': once(
    () => `${head}[{"role":"user","content":[${'{"type":"text"},'.repeat(60_000)}0]}]}`,
  ),
  'thousands of stops': once(
    () => `${head}[{"role":"user","content":"x"}],"stop":[${'"",'.repeat(300_000)}""]}`,
  ),
  'many keys': once(
    () => `{${Array.from({ length: 60_000 }, (_, n) => `"key${n}":0`).join(',')},${head.slice(1)}[]}`,
  ),
  'deep nesting': once(() => `${head}${'['.repeat(400_000)}`),
  'deep objects': once(() => `${'{"a":'.repeat(150_000)}`),
  'large number': once(() => `{"max_tokens":${'9'.repeat(900_000)},${head.slice(1)}[]}`),
};

const long = (id: string): string => `Slowly ${id} ${'x'.repeat(1000)}`;

const garbage: readonly string[] = [
  '\r\n\r\n\r\n',
  'GET\r\n\r\n',
  '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  'POST /v1/chat/completions HTTP/1.1\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
  'POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n',
  `GET /${'a'.repeat(100_000)} HTTP/1.1\r\n\r\n`,
  `GET / HTTP/1.1\r\n${'x-many: 1\r\n'.repeat(10_000)}\r\n`,
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'POST /v1/chat/completions HTTP/9.9\r\n\r\n',
];

const hostile = (name: string, weight: number, make: Kind['make']): Kind => ({
  ...kind(name, weight, ['refused', 'client_gone'], (dice, id) => ({ ...make(dice, id), check: isRejected })),
  may_lack_record: true,
});

/** Requests that are meant to hurt: large in effect, endless, or no requests at all. */
export const hostileKinds: readonly Kind[] = [
  ...Object.entries(bodies).map(([name, body]) =>
    hostile(name, 1, () => post(body(), name.startsWith('gzip') ? { 'content-encoding': 'gzip' } : {})),
  ),
  hostile('slow upload', 0.5, (dice, id) => ({ ...chat(long(id)), drip_ms: dice.integer(200, 2000) })),
  hostile('unfinished upload', 0.5, (_, id) => ({ ...chat(long(id)), unfinished: true })),
  kind('garbage', 2, [], dice => ({
    ...plain('', ''),
    body: Buffer.from(dice.pick(garbage), 'latin1'),
    check: isRejected,
  })),
];

/** Clients whose connection ends at any byte of what they send or read. */
export const cutKinds: readonly Kind[] = [
  {
    ...kind('cut in a request', 1, ['client_gone', 'completed', 'refused'], (dice, id) => ({
      ...chat(`Cut ${id} [[sim:tokens=20]] ${'x'.repeat(dice.integer(0, 5000))}`),
      send_bytes: dice.integer(1, 6000),
    })),
    may_lack_record: true,
  },
  ...[{}, streaming, continuous].map((body, at) =>
    kind(`cut in a reply ${at + 1}`, 1, ['client_gone', 'completed'], (dice, id) => ({
      ...simulated(dice, id, 'tokens=40 tps={0|0|200}', body),
      leave_characters: dice.integer(0, 8000),
    })),
  ),
];

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}
