import type { Aggregator } from './metric.ts';
import { MetricSet } from './metric-factory.ts';

const queueBuckets_s = [0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

const states = ['closed', 'open', 'half_open'] as const;
const controlStates = ['active', 'paused', 'draining'] as const;

/** The gauge of circuit breakers. */
export const breakerStateName = 'sluice_breaker_state';

/** What is read of a provider when metrics are scraped. */
export interface WatchedProvider {
  readonly name: string;
  readonly healthy: boolean;
  readonly breaker: { readonly state: (typeof states)[number] };
  readonly certificates: { readonly soonest_ms: number | undefined };
  readonly bulkhead: { readonly in_flight: number; readonly queued: number };
}

/** Why no further upstream was asked after one had failed. */
export type DeniedRetry = 'attempts' | 'budget' | 'upstreams' | 'time';

/**
 * Failovers, circuit breakers, concurrency permits and odd replies of providers. Labels are names of the configuration or of closed sets.
 */
export class RoutingMetrics extends MetricSet {
  readonly failedOver = this.counting({
    name: 'sluice_failovers_total',
    help: 'Attempts that followed a failed one: the provider that failed, the next one (the same: a retry), and the kind of failure.',
    labels: ['from', 'to', 'kind'],
  });
  readonly denied = this.counting({
    name: 'sluice_retries_denied_total',
    help: 'Failures returned to the client without a further attempt: no attempts, budget, upstreams or time were left.',
    labels: ['gen_ai_request_model', 'reason'],
  });
  readonly fellBack = this.counting({
    name: 'sluice_fallbacks_total',
    help: 'Requests that went to another model: the model before, the next one, and why: context_length, content_filter, unavailable.',
    labels: ['from', 'to', 'kind'],
  });
  readonly #transitions = this.metrics.counter({
    name: 'sluice_breaker_transitions_total',
    help: "State changes of a provider's circuit breaker, by the new state.",
    labels: ['sluice_provider', 'state'],
  });
  readonly finishedUnknown = this.counting({
    name: 'sluice_unknown_finish_reasons_total',
    help: 'Choices with a finish_reason that the adapter does not know, which clients see as stop. The label has words that other servers use, and other; the log has the word.',
    labels: ['sluice_provider', 'finish_reason'],
  });
  readonly endedLate = this.counting({
    name: 'sluice_late_upstream_errors_total',
    help: 'Errors of an upstream after the last finish reason of its stream; the client got the whole answer.',
    labels: ['sluice_provider'],
  });
  readonly #bounded = this.metrics.counter({
    name: 'sluice_usage_bounded_total',
    help: 'Exchanges whose provider reported more tokens than fit the context window of the model, which is billed instead.',
    labels: ['sluice_provider'],
  });
  readonly #queueTime = this.metrics.histogram({
    name: 'sluice_provider_queue_seconds',
    help: "Waiting time for one of a provider's max_concurrent permits; outcome: entered, late, left.",
    labels: ['sluice_provider', 'outcome'],
    buckets: queueBuckets_s,
  });
  readonly #overflows = this.metrics.counter({
    name: 'sluice_overload_refusals_total',
    help: 'Requests refused because every upstream of the model was at its max_concurrent or its limits.',
    labels: ['gen_ai_request_model'],
  });
  readonly #gauges = [
    this.#gauge('sluice_provider_in_flight', 'Attempts in flight.', ({ bulkhead }) => bulkhead.in_flight),
    this.#gauge(
      'sluice_provider_queued',
      'Requests waiting for a permit.',
      ({ bulkhead }) => bulkhead.queued,
    ),
    this.#gauge(
      'sluice_provider_healthy',
      '0 while the health check fails.',
      ({ healthy }) => Number(healthy),
      'min',
    ),
  ];
  readonly #breaker = this.metrics.gauge({
    name: breakerStateName,
    help: "1 for the state that a provider's circuit breaker is in; of several workers how many are in it.",
    labels: ['sluice_provider', 'state'],
  });

  readonly #control = this.metrics.gauge({
    name: 'sluice_provider_control',
    help: '1 for what operators let a provider do: active, paused or draining.',
    aggregator: 'max',
    labels: ['sluice_provider', 'state'],
  });
  /** What operators let a provider do; the gateway sets it. */
  stateOf: (provider: string) => (typeof controlStates)[number] = () => 'active';

  readonly #certificate = this.metrics.gauge({
    name: 'sluice_upstream_certificate_expiry_timestamp_seconds',
    help: "Unix time at which a provider's TLS certificate expires: the first of those last seen on a connection.",
    aggregator: 'min',
    labels: ['sluice_provider'],
  });

  #gauge(
    name: string,
    help: string,
    read: (provider: WatchedProvider) => number,
    aggregator: Aggregator = 'sum',
  ) {
    return { metric: this.metrics.gauge({ name, help, aggregator, labels: ['sluice_provider'] }), read };
  }

  /** Shows `provider` in the gauges until the returned function is called; its breaker's transitions count from 0. */
  watch(provider: WatchedProvider): () => void {
    const { name, breaker } = provider;
    for (const state of states) this.#transitions.labels(name, state);
    this.#bounded.labels(name);
    const ends = [
      ...this.#gauges.map(({ metric, read }) => metric.read(() => read(provider), name)),
      this.#certificate.collect(() => certificateOf(provider)),
      ...controlStates.map(state =>
        this.#control.read(() => Number(this.stateOf(name) === state), name, state),
      ),
      ...states.map(state => this.#breaker.read(() => Number(breaker.state === state), name, state)),
    ];
    return () => {
      for (const end of ends) end();
    };
  }

  breakerBecame(provider: string, state: (typeof states)[number]): void {
    this.#transitions.labels(provider, state).inc();
  }

  /** Creates the series of a model's overloads, so that the first one is seen as an increase. */
  prepareModel(model: string): void {
    this.#overflows.labels(model);
  }

  /** Counts a request refused because of overload. */
  overflowed(model: string): void {
    this.#overflows.labels(model).inc();
  }

  /** Counts an exchange of which `provider` reported impossible usage. */
  usageBounded(provider: string): void {
    this.#bounded.labels(provider).inc();
  }

  queued(provider: string, outcome: string, wait_ms: number): void {
    this.#queueTime.labels(provider, outcome).observe(wait_ms / 1000);
  }
}

function certificateOf({ name, certificates: { soonest_ms } }: WatchedProvider) {
  return soonest_ms === undefined ? [] : [{ labels: { sluice_provider: name }, value: soonest_ms / 1000 }];
}
