import { type Panel, table } from './panel.ts';
import { type Expr, of, ofModel, promql, quantile, rate, share, sum } from './promql.ts';

const by = 'sluice_provider';
const attempts = 'gen_ai_client_operation_duration_seconds_count';
/** Not those that were ended from here or sent once more, nor requests that no provider would take. */
const failedType = 'error_type!~"|aborted|refused|stale_connection"';

/** Attempts at each provider, per second. */
export const attempted = (...matchers: readonly string[]): Expr =>
  rate(of(attempts, ...matchers, ofModel), by);

/** The share of them that failed. */
export const failedShare = (...matchers: readonly string[]): Expr =>
  share(attempted(...matchers, failedType), attempted(...matchers));

/** The providers of now in a row each; `matchers` may choose among them. */
export const providerTable = (id: number, ...matchers: readonly string[]): Panel => {
  const firstChunk = of('gen_ai_client_operation_time_to_first_chunk_seconds', ...matchers, ofModel);
  return table(
    id,
    'Providers now',
    's',
    'Attempts, those that failed, and the wait for the first chunk of a stream. In flight and breakers are of all models.',
    {
      'Attempts per second': attempted(...matchers),
      Succeeded: promql`1 - ${failedShare(...matchers)}`,
      'First chunk, p50': quantile(0.5, firstChunk, by),
      'First chunk, p99': quantile(0.99, firstChunk, by),
      'In flight': sum(of('sluice_provider_in_flight', ...matchers), by),
      'Breakers not closed': sum(of('sluice_breaker_state', ...matchers, 'state!="closed"'), by),
    },
    {
      units: {
        'Attempts per second': 'reqps',
        Succeeded: 'percentunit',
        'In flight': 'short',
        'Breakers not closed': 'short',
      },
      labels: { [by]: 'Provider' },
    },
  );
};
