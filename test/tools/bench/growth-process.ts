import { readdirSync, readFileSync } from 'node:fs';
import { Client } from 'undici';
import { median, quantile } from '../figures.ts';
import { chatBody } from './conversation.ts';
import { conversationOf, GrowingSidecar, headersOf } from './growth-load.ts';
import { growthModel } from './growth-names.ts';
import type { Collection } from './growth-server.ts';
import type { GrowthTable } from './growth-table.ts';
import { events_per_second } from './measurement.ts';
import { replyTo, requestOf } from './request-load.ts';
import { measureStreams, streamLength_ms } from './stream-load.ts';

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

/** How long the garbage collector stops streams. `upstream_port` is that of an upstream that paces them. */
export const collections = (upstream_port: () => Promise<number>): GrowthTable => ({
  title: `Garbage collection while streams of ${events_per_second} events per second run`,
  unit: 'streams',
  sizes: [200, 1000],
  columns: [
    { head: 'young, per second', digits: 1 },
    { head: 'p50 ms', digits: 2 },
    { head: 'p99 ms', digits: 2 },
    { head: 'longest ms', digits: 1 },
    { head: 'full, per minute', digits: 1 },
    { head: 'longest pause ms', digits: 1 },
    { head: 'share of time %', digits: 2 },
  ],
  async measure(streams) {
    const sidecar = await GrowingSidecar.start({ upstream_port: await upstream_port() });
    const pace = { streams, open_ms: 3000, measure_ms: 10_000 };
    const max_tokens = Math.ceil((streamLength_ms(pace) / 1000) * events_per_second);
    const body = JSON.stringify({ ...JSON.parse(chatBody({ max_tokens })), model: growthModel(0) });
    try {
      const { found, seconds, fault } = await measureStreams({
        ...pace,
        origin: sidecar.told.url,
        patience_ms: 180_000,
        requestOf: () => requestOf('chat', headersOf(0), body),
        isWhole: events => events >= max_tokens + 3,
        start: () => {
          const from_ms = performance.now();
          const before = sidecar.collections();
          return async () => ({
            found: (await sidecar.collections()).slice((await before).length),
            seconds: (performance.now() - from_ms) / 1000,
          });
        },
      });
      if (fault) throw new Error(fault);
      return figuresOf(found, seconds);
    } finally {
      await sidecar.stop();
    }
  },
});

function figuresOf(found: readonly Collection[], seconds: number): number[] {
  const ofKind = (isYoung: boolean) =>
    found.filter(one => one.isYoung === isYoung).map(({ pause_ms }) => pause_ms);
  const [young, full] = [ofKind(true), ofKind(false)];
  const total_ms = [...young, ...full].reduce((sum, pause_ms) => sum + pause_ms, 0);
  return [
    young.length / seconds,
    quantile(young, 0.5),
    quantile(young, 0.99),
    Math.max(0, ...young),
    (full.length / seconds) * 60,
    Math.max(0, ...full),
    total_ms / seconds / 10,
  ];
}
