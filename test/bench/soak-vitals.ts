import { median } from './statistics.ts';

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

export async function readVitals(adminUrl: string): Promise<Vitals> {
  // Not kept alive: the connection would be one of the open files that are counted.
  const reply = await fetch(`${adminUrl}/metrics`, {
    headers: { connection: 'close' },
    signal: AbortSignal.timeout(20_000),
  });
  const text = await reply.text();
  return {
    rss_bytes: sumOf(text, 'process_resident_memory_bytes'),
    heap_bytes: sumOf(text, 'nodejs_heap_size_used_bytes'),
    external_bytes: sumOf(text, 'nodejs_external_memory_bytes'),
    open_files: sumOf(text, 'process_open_fds'),
    in_flight: sumOf(text, 'sluice_in_flight'),
    background: sumOf(text, 'sluice_background_reads'),
    exchanges: sumOf(text, 'sluice_requests_total'),
  };
}

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
