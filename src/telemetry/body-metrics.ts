import { Gauge, type Registry } from 'prom-client';
import { SeriesCounter } from './series.ts';

/** Which bound of buffered bytes refused a body. */
export type BufferBound = 'account' | 'total';

/** What is counted of request bodies held in memory. */
export class BodyMetrics {
  readonly #refusals;
  #buffered_bytes = 0;

  constructor(registry: Registry) {
    const registers = [registry];
    const buffered = () => this.#buffered_bytes;
    new Gauge({
      name: 'sluice_buffered_request_bytes',
      help: 'Bytes of request bodies held in memory, from their arrival to the end of their exchange.',
      registers,
      collect() {
        this.set(buffered());
      },
    });
    this.#refusals = new SeriesCounter({
      name: 'sluice_buffer_refusals_total',
      help: 'Request bodies refused because max_buffered_bytes or max_buffered_bytes_per_account was reached.',
      labelNames: ['bound'],
      registers,
    });
    // There from the beginning, so that the first refusal is seen as an increase.
    for (const bound of ['account', 'total'] satisfies BufferBound[]) this.#refusals.series(bound);
  }

  buffered(change_bytes: number): void {
    this.#buffered_bytes += change_bytes;
  }

  refused(bound: BufferBound): void {
    this.#refusals.add(1, bound);
  }
}
