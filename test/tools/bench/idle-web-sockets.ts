import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { growthKey, growthModel } from './conversation.ts';
import type { GrowingSidecar } from './growing-sidecar.ts';

/** Handshakes at a time. */
const at_once = 50;
/** Time in which garbage is collected, and memory that nobody uses is given back. */
const settle_ms = 4000;

/** KiB of memory for each of so many WebSockets: when they are open, and when each has had a reply that it remembers. */
export async function memoryOfWebSockets(sidecar: GrowingSidecar, count: number): Promise<number[]> {
  const warm = await opened(sidecar, at_once);
  await Promise.all(warm.map(ask));
  for (const ws of warm) ws.terminate();
  const before = await residentKib(sidecar);
  const open: WebSocket[] = [];
  while (open.length < count) open.push(...(await opened(sidecar, Math.min(at_once, count - open.length))));
  const idle = await residentKib(sidecar);
  for (let from = 0; from < count; from += at_once)
    await Promise.all(open.slice(from, from + at_once).map(ask));
  const used = await residentKib(sidecar);
  for (const ws of open) ws.terminate();
  return [(idle - before) / count, (used - before) / count];
}

const opened = ({ url }: GrowingSidecar, count: number): Promise<WebSocket[]> =>
  Promise.all(
    Array.from({ length: count }, async () => {
      const headers = { authorization: `Bearer ${growthKey(0)}` };
      const ws = new WebSocket(`${url.replace('http', 'ws')}/v1/responses`, { headers });
      await once(ws, 'open');
      return ws;
    }),
  );

function ask(ws: WebSocket): Promise<void> {
  const input = 'A river bends because water on the outside of a slight curve runs faster. '.repeat(14);
  ws.send(JSON.stringify({ type: 'response.create', model: growthModel(0), store: false, input }));
  return new Promise((resolve, reject) => {
    const read = (data: unknown) => {
      const { type } = JSON.parse(String(data));
      if (type !== 'response.completed' && type !== 'error') return;
      ws.off('message', read);
      if (type === 'error') reject(new Error(String(data)));
      else resolve();
    };
    ws.on('message', read);
  });
}

async function residentKib({ adminUrl }: GrowingSidecar): Promise<number> {
  await sleep(settle_ms);
  const metrics = await (await fetch(`${adminUrl}/metrics`)).text();
  return Number(/^process_resident_memory_bytes (\S+)/m.exec(metrics)![1]) / 1024;
}
