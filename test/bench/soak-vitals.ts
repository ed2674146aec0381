import { Agent, request as httpRequest } from 'node:http';
import { setTimeout as after } from 'node:timers/promises';
import { median } from './statistics.ts';

/**
 * One connection for all looks. One for each would be one of the open files that are counted; and where the kernel is short of
 * memory, as when thousands of clients do not read, it resets connections that their server has closed, whatever they still carry.
 */
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const patience_ms = 20_000;
const looks = 3;

/** How the gateway's process is, as its admin address tells. */
export interface Vitals {
  readonly rss_bytes: number;
  readonly heap_bytes: number;
  readonly external_bytes: number;
  readonly open_files: number;
  readonly in_flight: number;
  readonly background: number;
  /** Exchanges that have ended. */
  readonly exchanges: number;
}

/** How it is now. A look that fails is repeated: whether the process answers at all is told by its replies to clients. */
export async function readVitals(adminUrl: string): Promise<Vitals> {
  for (let look = 1; ; look++) {
    try {
      return vitalsOf(await metricsOf(adminUrl));
    } catch (fault) {
      if (look === looks) throw new Error(`no metrics from ${adminUrl}`, { cause: fault });
      await after(100);
    }
  }
}

function metricsOf(adminUrl: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(patience_ms);
    const request = httpRequest(`${adminUrl}/metrics`, { agent, signal }, response => {
      let text = '';
      response
        .setEncoding('utf8')
        .on('data', part => (text += part))
        .on('error', reject)
        .on('end', () => resolve(text));
    });
    request.on('error', reject).end();
  });
}

const vitalsOf = (text: string): Vitals => ({
  rss_bytes: sumOf(text, 'process_resident_memory_bytes'),
  heap_bytes: sumOf(text, 'nodejs_heap_size_used_bytes'),
  external_bytes: sumOf(text, 'nodejs_external_memory_bytes'),
  open_files: sumOf(text, 'process_open_fds'),
  in_flight: sumOf(text, 'sluice_in_flight'),
  background: sumOf(text, 'sluice_background_reads'),
  exchanges: sumOf(text, 'sluice_requests_total'),
});

function sumOf(text: string, name: string): number {
  return text
    .split('\n')
    .filter(line => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}

/** Medians of a quantity over the second and the last third of a run; the first third warms up. */
export interface Trend {
  readonly middle: number;
  readonly last: number;
}

export function trendOf(samples: readonly Vitals[], quantity: keyof Vitals): Trend {
  const values = samples.map(sample => sample[quantity]);
  const third = Math.floor(values.length / 3);
  return { middle: median(values.slice(third, 2 * third)), last: median(values.slice(2 * third)) };
}
