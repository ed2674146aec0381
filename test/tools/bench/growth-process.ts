import { readdirSync, readFileSync } from 'node:fs';
import { Client } from 'undici';
import { median } from '../figures.ts';
import { conversationOf, GrowingSidecar } from './growth-load.ts';
import type { GrowthTable } from './growth-table.ts';
import { replyTo } from './request-load.ts';

/** CPU milliseconds of all threads until now, to the nanosecond. */
const cpu_ms = (pid: number): number =>
  readdirSync(`/proc/${pid}/task`).reduce(
    (sum, thread) =>
      sum + Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1').split(' ')[0]) / 1e6,
    0,
  );

const starts = 5;

/** What the first requests after a start cost, until code is compiled. */
export const firstRequests = (upstream_port: number): GrowthTable => ({
  title: `The first requests after a start, medians of ${starts} starts`,
  unit: 'request number',
  sizes: [1, 2, 3, 10, 100, 1000],
  columns: [
    { head: 'CPU ms', digits: 2 },
    { head: 'reply after ms', digits: 2 },
  ],
  async measure(number) {
    const found: (readonly [cpu_ms: number, wall_ms: number])[] = [];
    for (let start = 0; start < starts; start++) {
      const sidecar = await GrowingSidecar.start({ upstream_port });
      const { url, pid } = sidecar.told;
      const client = new Client(url);
      const [request] = conversationOf({});
      for (let sent = 1; sent < number; sent++) await replyTo(client, request!);
      const [before_ms, began_ms] = [cpu_ms(pid), performance.now()];
      await replyTo(client, request!);
      const wall_ms = performance.now() - began_ms;
      found.push([cpu_ms(pid) - before_ms, wall_ms]);
      await client.destroy();
      await sidecar.stop();
    }
    return [median(found.map(([cpu]) => cpu)), median(found.map(([, wall]) => wall))];
  },
});
