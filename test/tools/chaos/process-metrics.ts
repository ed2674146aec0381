import { setTimeout as after } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { sumOf } from '../../support/gateway-under-test.ts';

/**
 * One connection for all reads. A new one for each would add to the open files that are counted. Where the kernel is short of memory,
 * as when thousands of clients do not read, it also resets closed connections with data still unread.
 */
const dispatcher = new Agent({ connections: 1 });
const patience_ms = 20_000;
const most_tries = 3;

const names = {
  rss_bytes: 'process_resident_memory_bytes',
  heap_bytes: 'nodejs_heap_size_used_bytes',
  open_files: 'process_open_fds',
  in_flight: 'sluice_in_flight',
  background: 'sluice_background_reads',
  /** Exchanges that have ended. */
  exchanges: 'sluice_requests_total',
  /** Rows that wait for the ledger. */
  queued: 'sluice_ledger_queue_rows',
  failovers: 'sluice_failovers_total',
} as const;

/** What the metrics of a gateway say about its process. */
export interface ProcessMetrics extends Readonly<Record<keyof typeof names | 'timers', number>> {
  /** The states of the providers' circuit breakers. */
  readonly breakers: Readonly<Record<string, string>>;
  readonly at_ms: number;
}

/** Reads the metrics, retrying failed reads: whether the process answers at all is judged by its replies to clients. */
export async function readMetrics(adminUrl: string): Promise<ProcessMetrics> {
  for (let tries = 1; ; tries++) {
    try {
      const { body } = await request(`${adminUrl}/metrics`, {
        dispatcher,
        signal: AbortSignal.timeout(patience_ms),
      });
      return metricsIn(await body.text());
    } catch (fault) {
      if (tries === most_tries) throw new Error(`no metrics from ${adminUrl}`, { cause: fault });
      await after(100);
    }
  }
}

function metricsIn(text: string): ProcessMetrics {
  const breakers = /^sluice_breaker_state\{sluice_provider="(\w+)",state="(\w+)"\} 1$/gm;
  const sums = Object.entries(names).map(([key, name]) => [key, sumOf(text, name)]);
  return {
    ...(Object.fromEntries(sums) as Record<keyof typeof names, number>),
    timers: sumOf(text, 'nodejs_active_resources', { type: 'Timeout' }),
    breakers: Object.fromEntries([...text.matchAll(breakers)].map(([, name, state]) => [name, state])),
    at_ms: performance.now(),
  };
}
