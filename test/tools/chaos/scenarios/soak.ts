import { faultyKinds } from '../clients/faulty.ts';
import { healthyKinds } from '../clients/healthy.ts';
import { misbehavingKinds } from '../clients/misbehaving.ts';
import { idle_timeout_ms, limits, patient_model } from '../clients/request.ts';
import type { Scenario } from '../scenario.ts';
import { equal, flat } from '../verdict.ts';

/** Everything at once, for as long as one likes. */
export const soak: Scenario = {
  name: 'soak',
  what: 'Clients of every kind, well and badly behaved, before an upstream that fails in every way.',
  servers: {
    config: config => {
      const { p1: patient } = config.providers;
      const models = config.models.map(model => {
        const provider = model.id === patient_model ? 'patient' : 'impatient';
        return { ...model, upstreams: model.upstreams.map(upstream => ({ ...upstream, provider })) };
      });
      const providers = { patient, impatient: { ...patient, idle_timeout_ms } };
      return { ...config, server: { ...config.server, ...limits }, models, providers } as typeof config;
    },
  },
  clients: [{ count: 32, kinds: [...healthyKinds, ...faultyKinds, ...misbehavingKinds] }],
  checks: ({ comparison, end, samples }, { seconds }) => {
    const counted = end.reduce((sum, { exchanges }) => sum + exchanges, 0);
    const exact = equal('sluice_requests_total counts every record', counted, comparison.records);
    if (samples.length < 9) return [exact];
    // A short run is still warming up in its second third.
    const growth = { ratio: seconds < 120 ? 1.5 : 1.15, bytes: (seconds < 600 ? 128 : 24) * 2 ** 20 };
    return [
      exact,
      flat(
        'resident memory is flat',
        samples.map(({ rss_bytes }) => rss_bytes),
        growth,
      ),
      flat(
        'the heap is flat',
        samples.map(({ heap_bytes }) => heap_bytes),
        growth,
      ),
    ];
  },
};
