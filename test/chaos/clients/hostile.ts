import { constants, gzipSync } from 'node:zlib';
import { isTurnedAway } from './checks.ts';
import type { Draw } from './draw.ts';
import { chat, type Errand, type Kind, post } from './errand.ts';

const endings = ['refused', 'client_gone'] as const;
const gzip = { 'content-encoding': 'gzip' };
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

/** Requests that are meant to hurt: large in effect, endless, or no requests at all. */
export const hostileKinds: readonly Kind[] = [
  ...Object.entries(bodies).map(([name, make]) => ({
    name,
    weight: 1,
    make: (): Errand => ({
      request: post(make(), name.startsWith('gzip') ? gzip : {}),
      endings,
      may_lack_record: true,
      check: isTurnedAway,
    }),
  })),
  ...(['drip_ms', 'unfinished'] as const).map(manner => ({
    name: manner === 'unfinished' ? 'unfinished upload' : 'slow upload',
    weight: 0.5,
    make: (draw: Draw, id: string): Errand => ({
      request: chat(`Slowly ${id} ${'x'.repeat(1000)}`),
      manner: manner === 'unfinished' ? { unfinished: true } : { drip_ms: draw.integer(200, 2000) },
      endings,
      may_lack_record: true,
      check: isTurnedAway,
    }),
  })),
  {
    name: 'garbage',
    weight: 2,
    make: draw => ({
      request: { method: '', path: '', headers: {}, body: Buffer.from(draw.one(garbage), 'latin1') },
      endings: [],
      check: isTurnedAway,
    }),
  },
];

/** Clients whose connection ends at any byte of what they send or read. */
export const cutKinds: readonly Kind[] = [
  {
    name: 'cut in a request',
    weight: 1,
    make: (draw, id) => ({
      request: chat(`Cut ${id} [[sim:tokens=20]] ${'x'.repeat(draw.integer(0, 5000))}`),
      manner: { send_bytes: draw.integer(1, 6000) },
      endings: ['client_gone', 'completed', 'refused'],
      may_lack_record: true,
    }),
  },
  ...[{}, { stream: true }, { stream: true, stream_options: { continuous_usage_stats: true } }].map(
    (more, at) => ({
      name: `cut in a reply ${at + 1}`,
      weight: 1,
      make: (draw: Draw, id: string): Errand => ({
        request: chat(`Cut ${id} [[sim:tokens=40 tps=${draw.one([0, 0, 200])}]]`, more),
        manner: { leave_characters: draw.integer(0, 8000) },
        endings: ['client_gone', 'completed'],
      }),
    }),
  ),
];

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}
