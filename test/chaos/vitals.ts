import { Agent, request as httpRequest } from 'node:http';
import { setTimeout as after } from 'node:timers/promises';

/**
 * One connection for all reads. A new one for each would add to the open files that are counted. Where the kernel is short of memory,
 * as when thousands of clients do not read, it also resets closed connections with data still unread.
 */
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const patience_ms = 20_000;
const looks = 3;

/** Vitals of the gateway's process, from its admin metrics. */
export interface Vitals {
  readonly rss_bytes: number;
  readonly heap_bytes: number;
  readonly external_bytes: number;
  readonly open_files: number;
  readonly in_flight: number;
  readonly background: number;
  /** Exchanges that have ended. */
  readonly exchanges: number;
  readonly timers: number;
  /** Rows that wait for the ledger. */
  readonly queued: number;
  /** The states of the providers' circuit breakers. */
  readonly breakers: Readonly<Record<string, string>>;
  readonly failovers: number;
  readonly at_ms: number;
}

/** Reads the current vitals, retrying failed reads: whether the process answers at all is judged by its replies to clients. */
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
  timers: sumOf(text, 'nodejs_active_resources', 'type="Timeout"'),
  queued: sumOf(text, 'sluice_ledger_queue_rows'),
  breakers: Object.fromEntries(
    [...text.matchAll(/^sluice_breaker_state\{gen_ai_provider_name="(\w+)",state="(\w+)"\} 1$/gm)].map(
      ([, provider, state]) => [provider, state],
    ),
  ),
  failovers: sumOf(text, 'sluice_failovers_total'),
  at_ms: performance.now(),
});

function sumOf(text: string, name: string, label = ''): number {
  return text
    .split('\n')
    .filter(line => (line.startsWith(`${name}{`) || line.startsWith(`${name} `)) && line.includes(label))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}
