import { Gauge, type Registry } from 'prom-client';
import { SeriesCounter, SeriesHistogram } from './series.ts';

const queueBuckets_s = [0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

const states = ['closed', 'open', 'half_open'] as const;

/** What is read of a provider when metrics are scraped. */
export interface WatchedProvider {
  readonly name: string;
  readonly healthy: boolean;
  readonly breaker: { readonly state: (typeof states)[number] };
  readonly bulkhead: { readonly in_flight: number; readonly queued: number };
}

/** Why no further upstream was asked after one had failed. */
export type DeniedRetry = 'attempts' | 'budget' | 'upstreams' | 'time';

/** How requests find their providers: failovers, breakers, places. All labels are names of the configuration or of closed sets. */
export class RoutingMetrics {
  readonly #failovers;
  readonly #denied;
  readonly #transitions;
  readonly #queueTime;
  readonly #overflows;
  readonly #watched = new Set<WatchedProvider>();

  constructor(registry: Registry) {
    const registers = [registry];
    this.#failovers = new SeriesCounter({
      name: 'sluice_failovers_total',
      help: 'Attempts that followed a failed one: who had failed, who was asked next (the same: a retry), and the kind of failure.',
      labelNames: ['from', 'to', 'kind'],
      registers,
    });
    this.#denied = new SeriesCounter({
      name: 'sluice_retries_denied_total',
      help: 'Failures that went to the client before any answer: no attempts, budget, upstreams or time were left.',
      labelNames: ['gen_ai_request_model', 'reason'],
      registers,
    });
    this.#transitions = new SeriesCounter({
      name: 'sluice_breaker_transitions_total',
      help: "Changes of a provider's breaker, by what it became.",
      labelNames: ['gen_ai_provider_name', 'state'],
      registers,
    });
    this.#queueTime = new SeriesHistogram(
      {
        name: 'sluice_provider_queue_seconds',
        help: "Waiting for one of a provider's max_concurrent places; outcome: entered, late, left.",
        labelNames: ['gen_ai_provider_name', 'outcome'],
        registers,
      },
      queueBuckets_s,
    );
    this.#overflows = new SeriesCounter({
      name: 'sluice_overload_refusals_total',
      help: 'Requests refused because every upstream of the model was at its max_concurrent.',
      labelNames: ['gen_ai_request_model'],
      registers,
    });
    this.#gauges(registers);
  }

  /** Shows `provider` in the gauges, until the function that it gives is called. */
  watch(provider: WatchedProvider): () => void {
    this.#watched.add(provider);
    return () => this.#watched.delete(provider);
  }

  failedOver(from: string, to: string, kind: string): void {
    this.#failovers.add(1, from, to, kind);
  }

  denied(model: string, reason: DeniedRetry): void {
    this.#denied.add(1, model, reason);
  }

  breakerBecame(provider: string, state: string): void {
    this.#transitions.add(1, provider, state);
  }

  queued(provider: string, outcome: string, wait_ms: number): void {
    this.#queueTime.series(provider, outcome).observe(wait_ms / 1000);
  }

  overflowed(model: string): void {
    this.#overflows.add(1, model);
  }

  /** Read when they are scraped, so that nothing is counted twice and nothing on the way of a request. */
  #gauges(registers: Registry[]): void {
    const watched = this.#watched;
    const gauge = (name: string, help: string, value: (provider: WatchedProvider) => number) =>
      new Gauge({
        name,
        help,
        labelNames: ['gen_ai_provider_name'],
        registers,
        collect() {
          this.reset();
          for (const provider of watched) this.inc({ gen_ai_provider_name: provider.name }, value(provider));
        },
      });
    gauge('sluice_provider_in_flight', 'Attempts under way.', ({ bulkhead }) => bulkhead.in_flight);
    gauge('sluice_provider_queued', 'Requests that wait for a place.', ({ bulkhead }) => bulkhead.queued);
    gauge('sluice_provider_healthy', '0 while the health check fails.', ({ healthy }) => (healthy ? 1 : 0));
    new Gauge({
      name: 'sluice_breaker_state',
      help: "1 for the state that a provider's breaker is in.",
      labelNames: ['gen_ai_provider_name', 'state'],
      registers,
      collect() {
        this.reset();
        for (const { name, breaker } of watched)
          for (const state of states)
            this.inc({ gen_ai_provider_name: name, state }, breaker.state === state ? 1 : 0);
      },
    });
  }
}
