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
}

interface Sample {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

/** Current figures from `registry`; 0 for what has not been counted yet. */
export async function liveFigures(registry: Registry): Promise<LiveFigures> {
  const [requests, tokens] = await Promise.all([
    samplesOf(registry, 'sluice_requests_total'),
    samplesOf(registry, 'sluice_tokens_total'),
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
  };
}

const total = (samples: readonly Sample[]): number => samples.reduce((sum, { value }) => sum + value, 0);

/** The present samples of a metric; none if there is no such metric. */
export async function samplesOf(registry: Registry, name: string): Promise<readonly Sample[]> {
  const metric = registry.getSingleMetric(name) as unknown as
    | { get(): Promise<{ readonly values: readonly Sample[] }> }
    | undefined;
  return metric === undefined ? [] : (await metric.get()).values;
}
