import { setTimeout as after } from 'node:timers/promises';
import { Pool } from 'undici';
import { quantile } from '../figures.ts';
import { requestOf } from './request-load.ts';

interface RateLoad {
  readonly origin: string;
  /** Requests per second. */
  readonly rate: number;
  readonly measure_ms: number;
}

/** Time before the latencies count: connections are opened. */
const warmup_ms = 500;
/** How long the last replies may take. */
const patience_ms = 10_000;

/**
 * An open loop: a request goes out whenever it is due, however many replies are missing. Quantiles of the time from a request to its whole
 * reply, in ms. Rejects if a reply is an error or does not come.
 */
export async function measureAtRate({
  origin,
  rate,
  measure_ms,
}: RateLoad): Promise<{ p50: number; p99: number }> {
  const pool = new Pool(origin, { connections: null });
  const request = requestOf('chat', {});
  const latencies_ms: number[] = [];
  const begun_ms = performance.now();
  let [sent, answered] = [0, 0];
  let fault: Error | undefined;
  const send = () => {
    const sent_ms = performance.now();
    sent++;
    pool.dispatch(request, {
      onRequestStart: () => {},
      onResponseStart: (_, status) => {
        if (status !== 200) fault ??= new Error(`a reply with status ${status}`);
      },
      onResponseData: () => {},
      onResponseEnd: () => {
        answered++;
        if (sent_ms - begun_ms >= warmup_ms) latencies_ms.push(performance.now() - sent_ms);
      },
      onResponseError: (_, error) => {
        fault ??= error;
      },
    });
  };
  try {
    for (let elapsed_ms = 0; elapsed_ms < warmup_ms + measure_ms && !fault; ) {
      while (sent < (elapsed_ms / 1000) * rate) send();
      await after(1);
      elapsed_ms = performance.now() - begun_ms;
    }
    const deadline_ms = performance.now() + patience_ms;
    while (answered < sent && !fault && performance.now() < deadline_ms) await after(5);
    if (answered < sent) fault ??= new Error(`${sent - answered} replies are missing`);
    if (fault) throw fault;
    return { p50: quantile(latencies_ms, 0.5), p99: quantile(latencies_ms, 0.99) };
  } finally {
    await pool.destroy();
  }
}
