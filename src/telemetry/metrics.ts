import type { Registry } from 'prom-client';
import { version } from '../common/version.ts';
import { AccountMetrics } from './account-metrics.ts';
import { BodyMetrics } from './body-metrics.ts';
import { ClientMetrics } from './client-metrics.ts';
import { ExchangeMetrics, ownTimeBuckets_s } from './exchange-metrics.ts';
import { type Measured, type MeasuredEnd, other_model } from './measured.ts';
import { registerMemoryLimits } from './memory-limits.ts';
import type { HistogramSeries } from './metric-series.ts';
import { RoutingMetrics } from './routing-metrics.ts';
import type { UsedLabel } from './used-labels.ts';

/** Names of fields at fault that are told apart. */
const max_fields = 300;

/** The first part of a field's name; `other` for what no format calls a field. */
const fieldOf = (param: string): string => /^[a-z][\w-]{0,63}(?=[.[]|$)/i.exec(param)?.[0] ?? 'other';

/** Hooks whose own time is measured. */
export const timedHooks = ['onHeaders', 'onRequest', 'onReply', 'onStream', 'onError', 'onSettled'] as const;
export type TimedHook = (typeof timedHooks)[number];

/**
 * Metrics of the gateway, on a registry that the caller owns and that several gateways and chains of one process may share. Labels come
 * from closed sets only: endpoints, catalog models (anything else `_other`), configured providers, stages, error types.
 */
export class Metrics extends ExchangeMetrics {
  readonly #backgroundReads = this.metrics.gauge({
    name: 'sluice_background_reads',
    help: 'Replies read to their end for billing alone, after a 524 or a client that left.',
  });
  readonly #stageTime = this.metrics.histogram({
    name: 'sluice_stage_duration_seconds',
    help: "A stage's own time in one exchange, errors included, without the wait for the upstream.",
    labels: ['stage', 'hook'],
    buckets: ownTimeBuckets_s,
  });
  readonly #stageRefusals = this.metrics.counter({
    name: 'sluice_stage_refusals_total',
    help: 'Errors thrown by a stage, refusals and faults; also what its promise rejects with after the exchange.',
    labels: ['stage', 'hook', 'error_type'],
  });
  readonly #fieldsAtFault = this.metrics.counter({
    name: 'sluice_invalid_fields_total',
    help: 'Requests refused for a field of theirs, by the first part of its name.',
    labels: ['endpoint', 'field'],
    // Names of the formats; those that stages refuse are their own.
    max_series: max_fields,
  });
  readonly #estimateError = this.metrics.histogram({
    name: 'sluice_usage_estimate_error_ratio',
    help: "Estimated completion tokens divided by the upstream's final figure.",
    labels: ['gen_ai_request_model'],
    buckets: [0.5, 0.7, 0.8, 0.85, 0.9, 0.95, 1, 1.05, 1.1, 1.15, 1.2, 1.3, 1.5, 2],
  });
  readonly #reloads = this.metrics.counter({
    name: 'sluice_config_reloads_total',
    help: 'Reloads of the configuration: those that were accepted, and those that were refused.',
    labels: ['result'],
    initial: [['success'], ['failure']],
  });
  readonly #lastReload = this.setting({
    name: 'sluice_config_last_reload_successful',
    help: '0 if the last reload of the configuration was refused; the one before it serves on then.',
    aggregator: 'min',
  });
  readonly #configLoaded = this.setting({
    name: 'sluice_config_loaded_timestamp_seconds',
    help: 'Unix time at which the running configuration was accepted.',
    aggregator: 'min',
  });
  readonly registry: Registry;
  readonly routing: RoutingMetrics;
  override readonly client: ClientMetrics;
  /** Metrics of request bodies in memory. */
  readonly bodies: BodyMetrics;
  #accounts: AccountMetrics | undefined;

  constructor(registry: Registry) {
    super(registry);
    this.registry = registry;
    this.routing = new RoutingMetrics(registry);
    this.client = new ClientMetrics(registry);
    const build = {
      name: 'sluice_build_info',
      help: '1; the version that runs.',
      aggregator: 'max',
      labels: ['version'],
    } as const;
    this.metrics.gauge(build).labels(version).set(1);
    this.bodies = new BodyMetrics(registry);
    registerMemoryLimits(registry);
  }

  /** Shows that a gateway or chain was assembled from its configuration at this time. */
  configLoaded(epoch_ms: number): void {
    this.#configLoaded(epoch_ms / 1000);
    this.#lastReload(1);
    this.unbind();
  }

  /** Forgets values of labels that no configuration uses any more, whose series are removed. */
  forget(gone: readonly UsedLabel[]): void {
    for (const [label, value] of gone) if (label === 'sluice_provider') this.client.forget(value);
    this.unbind();
  }

  /** Counts a reload that was accepted, or refused. */
  reloaded(result: 'success' | 'failure'): void {
    this.#reloads.labels(result).inc();
    this.#lastReload(result === 'success' ? 1 : 0);
  }

  /** Starts counting by account as well. */
  countAccounts(): void {
    this.#accounts ??= new AccountMetrics(this.registry);
  }

  override settled(exchange: Measured, end: MeasuredEnd): void {
    super.settled(exchange, end);
    const { error_param, end_reason, provider, usage } = end;
    if (error_param !== undefined && end_reason === 'refused')
      this.#fieldsAtFault.labels(exchange.endpoint.name, fieldOf(error_param)).inc();
    if (exchange.endpoint.public) return;
    if (provider !== undefined && usage.prompt_tokens > 0)
      this.client.used(exchange, provider, usage.prompt_tokens, usage.completion_tokens);
    this.#accounts?.settled(end);
  }

  override prepareRequests(endpoints: readonly string[], models: readonly string[]): void {
    super.prepareRequests(endpoints, models);
    for (const model of models) this.routing.prepareModel(model);
  }

  /** Counts a background read that begins (1) or ends (-1). */
  backgroundReads(change: 1 | -1): void {
    this.#backgroundReads.labels().inc(change);
  }

  /** The series of a stage's own time, in seconds, for the chain to hold. */
  stageTime(stage: string, hook: TimedHook): HistogramSeries {
    return this.#stageTime.labels(stage, hook);
  }

  stageRefused(stage: string, hook: string, error_type: string): void {
    this.#stageRefusals.labels(stage, hook, error_type).inc();
  }

  /** Creates the series of a stage's hooks, so that the first run and the first failure are seen as an increase. */
  prepareStage(stage: string, hooks: readonly TimedHook[]): void {
    for (const hook of hooks) {
      this.#stageTime.labels(stage, hook);
      this.#stageRefusals.labels(stage, hook, 'server_error');
    }
  }

  estimateChecked(exchange: Measured, ratio: number): void {
    this.#estimateError.labels(exchange.model?.id ?? other_model).observe(ratio);
  }
}
