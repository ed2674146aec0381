import { faultyKinds } from '../clients/faulty.ts';
import { healthyKinds } from '../clients/healthy.ts';
import * as limits from '../clients/limits.ts';
import { rudeKinds } from '../clients/rude.ts';
import { check, type Scenario } from '../scenario.ts';
import { flat } from '../verdict.ts';

const { max_body_bytes, slow_client_ms, time_limit_ms, idle_timeout_ms, patient_model } = limits;

/** Everything at once, for as long as one likes. */
export const soak: Scenario = {
  name: 'soak',
  what: 'Clients of every kind, well and badly behaved, before an upstream that fails in every way.',
  servers: {
    config: config => {
      const { p1: patient } = config.providers;
      const impatient = { ...patient, idle_timeout_ms };
      const models = config.models.map(model => {
        const provider = model.id === patient_model ? 'patient' : 'impatient';
        return { ...model, upstreams: model.upstreams.map(upstream => ({ ...upstream, provider })) };
      });
      const limited = { max_body_bytes, slow_client_ms, non_stream_timeout_ms: time_limit_ms };
      const server = { ...config.server, ...limited };
      return { ...config, server, models, providers: { patient, impatient } } as typeof config;
    },
  },
  clients: [{ count: 32, kinds: [...healthyKinds, ...faultyKinds, ...rudeKinds] }],
  checks: (findings, { seconds }) => {
    const { books, end, samples } = findings;
    const counted = end.reduce((sum, { exchanges }) => sum + exchanges, 0);
    // A short run is still warming up in its second third.
    const growth = { ratio: seconds < 120 ? 1.5 : 1.15, bytes: (seconds < 600 ? 128 : 24) * 2 ** 20 };
    return [
      check(
        'the metrics count every exchange',
        counted === books.records,
        `${books.records} records, ${counted} in sluice_requests_total`,
      ),
      ...(samples.length < 9
        ? []
        : [
            flat('resident memory is flat', findings, 'rss_bytes', growth),
            flat('the heap is flat', findings, 'heap_bytes', growth),
          ]),
    ];
  },
};
