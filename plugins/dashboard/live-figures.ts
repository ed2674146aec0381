import type { Registry } from 'prom-client';
import { type ExtensionContext, endClassOf, errorNameOf, serviceFailures } from '../../src/plugin.ts';
import { muted } from './view/format.ts';
import { type Html, html } from './view/html.ts';

/** Counters of the gateway since its process began; rates are the difference of two. */
export interface LiveFigures {
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

/** Rates are those of so much time, so that they do not flicker; what is older tells nothing of now. */
const [calm_ms, old_ms] = [10_000, 20_000];

/** What a server does per second. */
export class LiveRates {
  /** The latest counts, the oldest first. */
  #samples: readonly (LiveFigures & { readonly at_ms: number })[] = [];

  /** A line with the rates since the last calls; without those there are none yet. */
  async html({ server, clock }: Pick<ExtensionContext, 'server' | 'clock'>): Promise<Html> {
    const [{ in_flight }, figures] = await Promise.all([server.all(), server.registry().then(liveFigures)]);
    const now = { ...figures, at_ms: clock.elapsed_ms() };
    const known = this.#samples.filter(
      // A process that began anew has counted less.
      ({ at_ms, requests }) => now.at_ms - at_ms < old_ms && requests <= now.requests,
    );
    const first = known.findLast(({ at_ms }) => now.at_ms - at_ms >= calm_ms) ?? known[0];
    this.#samples = [...known, now];
    const rate = (name: keyof LiveFigures) => {
      if (!first || first.at_ms === now.at_ms) return '–';
      const perSecond = ((now[name] - first[name]) / (now.at_ms - first.at_ms)) * 1000;
      return perSecond >= 100 ? String(Math.round(perSecond)) : perSecond.toFixed(1);
    };
    return html`${muted('This server now:')} ${in_flight} in flight, ${rate('requests')} requests/s, ${rate('failures')} failed/s, ${rate('tokens')} tokens/s`;
  }
}

const total = (samples: readonly Sample[]): number => samples.reduce((sum, { value }) => sum + value, 0);

/** The present samples of a metric; none if there is no such metric. */
export async function samplesOf(registry: Registry, name: string): Promise<readonly Sample[]> {
  const metric = registry.getSingleMetric(name) as unknown as
    | { get(): Promise<{ readonly values: readonly Sample[] }> }
    | undefined;
  return metric === undefined ? [] : (await metric.get()).values;
}
