import { beforeEach, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { RoutingMetrics } from '../../../../src/telemetry/routing-metrics.ts';

let registry: Registry;
let metrics: RoutingMetrics;
beforeEach(() => {
  registry = new Registry();
  metrics = new RoutingMetrics(registry);
});
const samples = async () => (await registry.metrics()).split('\n').filter(line => /^\w/.test(line));

it('shows the state of a watched provider at each scrape, until it is unwatched', async () => {
  const provider = {
    name: 'a',
    healthy: true,
    breaker: { state: 'closed' as 'closed' | 'open' },
    bulkhead: { in_flight: 2, queued: 0 },
    certificates: { soonest_ms: undefined as number | undefined },
  };
  const unwatch = metrics.watch(provider);
  Object.assign(provider, { healthy: false, bulkhead: { in_flight: 3, queued: 1 } });
  provider.breaker.state = 'open';
  expect((await samples()).filter(line => line.includes('certificate'))).toEqual([]);
  provider.certificates.soonest_ms = 1_795_000_000_000;
  expect(await samples()).toEqual([
    'sluice_breaker_transitions_total{sluice_provider="a",state="closed"} 0',
    'sluice_breaker_transitions_total{sluice_provider="a",state="open"} 0',
    'sluice_breaker_transitions_total{sluice_provider="a",state="half_open"} 0',
    'sluice_usage_bounded_total{sluice_provider="a"} 0',
    'sluice_provider_in_flight{sluice_provider="a"} 3',
    'sluice_provider_queued{sluice_provider="a"} 1',
    'sluice_provider_healthy{sluice_provider="a"} 0',
    'sluice_breaker_state{sluice_provider="a",state="closed"} 0',
    'sluice_breaker_state{sluice_provider="a",state="open"} 1',
    'sluice_breaker_state{sluice_provider="a",state="half_open"} 0',
    'sluice_provider_control{sluice_provider="a",state="active"} 1',
    'sluice_provider_control{sluice_provider="a",state="paused"} 0',
    'sluice_provider_control{sluice_provider="a",state="draining"} 0',
    'sluice_upstream_certificate_expiry_timestamp_seconds{sluice_provider="a"} 1795000000',
  ]);
  unwatch();
  expect((await samples()).filter(line => !/_transitions_total|_bounded_total/.test(line))).toEqual([]);
});

it('counts failovers, denied retries, breaker transitions, waits for a permit and overloads', async () => {
  metrics.failedOver('a', 'b', 'timeout');
  metrics.denied('m', 'budget');
  metrics.breakerBecame('a', 'open');
  metrics.queued('a', 'entered', 250);
  metrics.overflowed('m');
  const all = await samples();
  for (const line of [
    'sluice_failovers_total{from="a",to="b",kind="timeout"} 1',
    'sluice_retries_denied_total{gen_ai_request_model="m",reason="budget"} 1',
    'sluice_breaker_transitions_total{sluice_provider="a",state="open"} 1',
    'sluice_provider_queue_seconds_sum{sluice_provider="a",outcome="entered"} 0.25',
    'sluice_overload_refusals_total{gen_ai_request_model="m"} 1',
  ])
    expect(all).toContain(line);
});
