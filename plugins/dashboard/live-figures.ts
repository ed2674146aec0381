import type { Registry } from 'prom-client';
import { endClassOf, errorNameOf, serviceFailures } from '../../src/plugin.ts';

/** Counters of the gateway since its process began; rates are the difference of two. */
interface LiveFigures {
  /** Exchanges that have ended. */
  readonly requests: number;
  /** Exchanges that failed at providers or in the gateway. */
  readonly failures: number;
  /** Billable tokens, in and out; counted when an exchange ends. */
  readonly tokens: number;
  /** Cumulative histogram of streams by time to first token; the last bound is `null` for all. */
  readonly first_tokens: readonly { readonly within_s: number | null; readonly count: number }[];
}

interface Sample {
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

/** Current figures from `registry`; 0 for what has not been counted yet. */
export async function liveFigures(registry: Registry): Promise<LiveFigures> {
  const [requests, tokens, buckets] = await Promise.all([
    samplesOf(registry, 'sluice_requests_total'),
    samplesOf(registry, 'sluice_tokens_total'),
    samplesOf(registry, 'gen_ai_server_time_to_first_token_seconds'),
  ]);
  const failed = requests.filter(({ labels }) => {
    const error = errorNameOf(String(labels.error_type) || undefined, Number(labels.status));
    return serviceFailures.some(name => name === endClassOf(String(labels.end_reason), error));
  });
  return {
    requests: total(requests),
    failures: total(failed),
    // Cached tokens are a part of the input's, reasoning a part of the output's.
    tokens: total(tokens.filter(({ labels }) => labels.kind === 'input' || labels.kind === 'output')),
    first_tokens: firstTokens(buckets),
  };
}

const total = (samples: readonly Sample[]): number => samples.reduce((sum, { value }) => sum + value, 0);

function firstTokens(samples: readonly Sample[]): LiveFigures['first_tokens'] {
  const buckets = samples.filter(({ metricName }) => metricName?.endsWith('_bucket'));
  const byBound = Map.groupBy(buckets, ({ labels }) => (labels.le === '+Inf' ? null : Number(labels.le)));
  return [...byBound]
    .map(([within_s, all]) => ({ within_s, count: total(all) }))
    .sort((a, b) => (a.within_s ?? Number.POSITIVE_INFINITY) - (b.within_s ?? Number.POSITIVE_INFINITY));
}

/** The present samples of a metric; none if there is no such metric. */
export async function samplesOf(registry: Registry, name: string): Promise<readonly Sample[]> {
  const metric = registry.getSingleMetric(name) as unknown as
    | { get(): Promise<{ readonly values: readonly Sample[] }> }
    | undefined;
  return metric === undefined ? [] : (await metric.get()).values;
}
