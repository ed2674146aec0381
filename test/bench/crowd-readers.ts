import { connect, type Socket } from 'node:net';
import { setTimeout as after } from 'node:timers/promises';
import { model, requestHeaders } from './conversation.ts';
import { type CrowdGateway, House } from './crowd-house.ts';
import { kernelTcpBytes, rssBytesOf } from './crowd-memory.ts';
import { cpuSecondsOf } from './process-cpu.ts';
import { readVitals, type Vitals } from './soak-vitals.ts';

/** A gateway that uses less of its core than this has nothing left to write. */
const idle_share = 0.05;
const filling_ms = 300_000;

/** Many clients that opened endless streams and never read one byte. */
export interface ReadersResult {
  readonly readers: number;
  readonly idle: Vitals;
  /** When every buffer on every way was full. */
  readonly full: Vitals;
  readonly full_rss_bytes: number;
  readonly kernel_bytes: number;
  readonly filled_s: number;
  /** How long another client then waited for a whole reply. */
  readonly other_ms: number;
  readonly slow_client_ms: number;
  /** When all had been cut. */
  readonly end: Vitals;
  readonly cut: number;
}

/** Opens them, waits until nothing moves, looks, and waits until the gateway has cut them all. */
export async function measureReaders(readers: number, say: (text: string) => void): Promise<ReadersResult> {
  const house = new House();
  const sockets: Socket[] = [];
  try {
    await house.open();
    // None may be cut before the last one is full.
    const slow_client_ms = 20_000 + 200 * readers;
    const gateway = await house.startGateway({ slow_client_ms });
    await ask(gateway);
    const idle = await readVitals(gateway.adminUrl);
    const kernel_idle = kernelTcpBytes();
    const start_ms = performance.now();
    for (let n = 0; n < readers; n++) {
      sockets.push(stalled(gateway.port));
      if (n % 20 === 19) await after(20);
    }
    say('waiting until all buffers are full');
    await untilFull(gateway, readers);
    const filled_s = (performance.now() - start_ms) / 1000;
    const full = await readVitals(gateway.adminUrl);
    const full_rss_bytes = rssBytesOf(gateway.child.pid);
    const kernel_bytes = kernelTcpBytes() - kernel_idle;
    const other_ms = await ask(gateway);
    say(`waiting until they are cut, which is after ${slow_client_ms / 1000} s`);
    const cut = await untilCut(gateway, readers, slow_client_ms);
    const end = await readVitals(gateway.adminUrl);
    return {
      readers,
      idle,
      full,
      full_rss_bytes,
      kernel_bytes,
      filled_s,
      other_ms,
      slow_client_ms,
      end,
      cut,
    };
  } finally {
    for (const socket of sockets) socket.destroy();
    await house.close();
  }
}

function bodyOf(content: string, stream: boolean): string {
  return JSON.stringify({ model, messages: [{ role: 'user', content }], stream });
}

function stalled(port: number): Socket {
  const body = bodyOf('[[sim:tokens=endless chunk=2000]]', true);
  const headers = { host: 'sluice', ...requestHeaders({}), 'content-length': Buffer.byteLength(body) };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const socket = connect({ port, host: '127.0.0.1' });
  socket.pause().on('error', () => {});
  socket.write(`POST /v1/chat/completions HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
  return socket;
}

/** One whole reply; how long it took. Throws when it is not one. */
async function ask({ port }: CrowdGateway): Promise<number> {
  const start_ms = performance.now();
  const reply = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
    method: 'POST',
    headers: requestHeaders({}),
    body: bodyOf('Hello', false),
    signal: AbortSignal.timeout(60_000),
  });
  const text = await reply.text();
  if (reply.status !== 200) throw new Error(`another client was answered ${reply.status}: ${text}`);
  return performance.now() - start_ms;
}

async function untilFull({ child, adminUrl }: CrowdGateway, readers: number): Promise<void> {
  const deadline_ms = performance.now() + filling_ms;
  let quiet = 0;
  while (quiet < 2) {
    if (performance.now() > deadline_ms) throw new Error('the streams do not come to a halt');
    const before = cpuSecondsOf(child.pid);
    await after(1000);
    quiet = cpuSecondsOf(child.pid) - before < idle_share ? quiet + 1 : 0;
  }
  const { in_flight } = await readVitals(adminUrl);
  if (in_flight !== readers) throw new Error(`${in_flight} streams are open instead of ${readers}`);
}

/** How many were settled as cut for not reading. */
async function untilCut(
  { adminUrl }: CrowdGateway,
  readers: number,
  slow_client_ms: number,
): Promise<number> {
  // Where the kernel was short of memory, what the first ones leave lets others write a little more, and their time begins anew.
  const deadline_ms = performance.now() + 2 * slow_client_ms + 60_000;
  while (true) {
    const text = await (await fetch(`${adminUrl}/metrics`)).text();
    const lines = text.split('\n').filter(line => line.includes('end_reason="slow_client"'));
    const cut = lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
    if (cut === readers || performance.now() > deadline_ms) return cut;
    await after(1000);
  }
}
