import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { defaultModels } from '../../src/config/example-models.ts';
import { ask } from '../support/gateway-under-test.ts';
import { completion } from '../support/hostile-setting.ts';
import { type SidecarProcess, sidecarConfig, startSidecar } from '../support/sidecar-process.ts';
import { until } from '../support/until.ts';

const MiB = 1024 * 1024;
/** The heap that Node takes in the container of 1 GiB that the documents name. */
const heap_MiB = 512;
const container_MiB = 1024;
const large_bytes = Math.floor(15.9 * MiB);

const greedy = Array.from({ length: 10 }, (_, at) => `greedy-${at}`);
const keyOf = (account: string) => `sk-${account}-0123456789abcdef`;

/** Replies to requests above 1 MiB wait for `release`; the others are answered at once. */
const waiting = new Set<ServerResponse>();
const answer = (response: ServerResponse) => response.end(JSON.stringify(completion('Yes.')));
const release = () => {
  for (const response of waiting) answer(response);
  waiting.clear();
};
const upstream = createServer((request, response) => {
  let received_bytes = 0;
  request.on('data', (part: Buffer) => {
    received_bytes += part.length;
  });
  request.on('end', () => {
    response.setHeader('content-type', 'application/json');
    if (received_bytes < MiB) answer(response);
    else waiting.add(response.on('close', () => waiting.delete(response)));
  });
});

let sidecar: SidecarProcess;

beforeAll(async () => {
  await new Promise<void>(resolve => upstream.listen(0, '127.0.0.1', resolve));
  const accounts = Object.fromEntries(
    [...greedy, 'good'].map(account => [account, { keys: [{ value: keyOf(account) }] }]),
  );
  // Long enough that no body is refused for its tokens.
  const models = defaultModels('upstream').map(model => ({ ...model, context_length: 100_000_000 }));
  const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/v1`;
  sidecar = await startSidecar(sidecarConfig(url, { accounts, models }), {
    NODE_OPTIONS: `--max-old-space-size=${heap_MiB}`,
  });
});

afterAll(async () => {
  release();
  await sidecar.stop();
  upstream.close();
});

function post(account: string, body: string | Buffer, headers: Record<string, string> = {}) {
  return fetch(`${sidecar.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${keyOf(account)}`, 'content-type': 'application/json', ...headers },
    body,
  });
}

/** The most memory that the process has had so far, as Linux tells it. */
function peak_MiB(): number {
  const status = readFileSync(`/proc/${sidecar.pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+)/m.exec(status)![1]) / 1024;
}

/** Sends the body by all of these accounts at once, beside a good client. Statuses of the attack, and of the good client. */
async function attacked(
  accounts: readonly string[],
  body: string | Buffer,
  headers?: Record<string, string>,
) {
  let unanswered = accounts.length;
  const attacks = accounts.map(async account => {
    try {
      const reply = await post(account, body, headers);
      await reply.text();
      return reply.status;
    } catch {
      return 0;
    } finally {
      unanswered--;
    }
  });
  const good: number[] = [];
  do {
    const reply = await post('good', JSON.stringify(ask('Hello?'))).catch(() => undefined);
    good.push(reply?.status ?? 0);
    await reply?.text();
    if (sidecar.hasEnded()) break;
  } while (waiting.size < unanswered);
  await until(() => waiting.size === unanswered || sidecar.hasEnded(), 30_000);
  const held = waiting.size;
  release();
  return { statuses: await Promise.all(attacks), good: [...new Set(good)], held };
}

const withContent = (content: string) => JSON.stringify(ask(content));
const spaces = withContent(`${' '.repeat(large_bytes - 200)}€`);

/** 280,000 objects, each of two bytes. */
const tinyObjects = { name: 'f', parameters: { a: Array.from({ length: 280_000 }, () => ({})) } };
/** JSON that gzip shrinks to the hundredth part that is allowed. */
const shrinking = withContent(
  `${randomBytes(150_000).toString('base64')}${' '.repeat(large_bytes - 201_000)}€`,
);

const attacks = [
  { name: '10 clients with 15.9 MB of spaces and one €', accounts: greedy, body: spaces },
  {
    name: '10 clients with 280,000 small objects and 15 MB of text',
    accounts: greedy,
    body: JSON.stringify(
      ask('x'.repeat(large_bytes - MiB), { tools: [{ type: 'function', function: tinyObjects }] }),
    ),
  },
  {
    name: '10 clients whose 0.2 MB decompress to 15.9',
    accounts: greedy,
    body: gzipSync(shrinking),
    headers: { 'content-encoding': 'gzip' },
  },
];

describe('a sidecar with 512 MB of heap and the default limits', () => {
  it.each(attacks)(
    'outlives $name, and serves others meanwhile',
    async ({ accounts, body, headers }) => {
      const { statuses, good, held } = await attacked(accounts, body, headers);
      expect(sidecar.hasEnded()).toBe(false);
      expect(good).toEqual([200]);
      expect(peak_MiB()).toBeLessThan(container_MiB);
      // What fits is served, and the rest is asked to come again.
      expect(held).toBeGreaterThan(0);
      expect(statuses.filter(status => status === 200)).toHaveLength(held);
      expect(new Set(statuses)).toEqual(new Set([200, 502]));
    },
    120_000,
  );
});
