import { expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { ListenerMetrics } from '../../../../src/telemetry/listener-metrics.ts';

const registry = new Registry();
const metrics = new ListenerMetrics(registry);
const lines = async (name: string) =>
  (await registry.metrics()).split('\n').filter(line => line.startsWith(`sluice_listener_${name}`));

it('shows the end of a certificate in seconds until it is no longer watched', async () => {
  const unwatch = metrics.watchExpiry('admin', () => 1_795_000_000_500);
  expect(await lines('certificate')).toEqual([
    'sluice_listener_certificate_expiry_timestamp_seconds{listener="admin"} 1795000000.5',
  ]);
  unwatch();
  expect(await lines('certificate')).toEqual([]);
});

it('counts failed handshakes from 0 by a reason for each code', async () => {
  const reasons = ['closed', 'plain_http', 'timeout', 'client_certificate', 'version', 'other'];
  const shown = (counts: readonly number[]) =>
    reasons.map(
      (reason, at) =>
        `sluice_listener_handshake_failures_total{listener="server",reason="${reason}"} ${counts[at]}`,
    );
  expect(await lines('handshake')).toEqual(shown([0, 0, 0, 0, 0, 0]));
  const codes = ['ECONNRESET', 'EPIPE', 'ERR_TLS_HANDSHAKE_TIMEOUT', 'ERR_SSL_BAD_EXTENSION'];
  expect(codes.map(code => metrics.handshakeFailed('server', code))).toEqual([
    'closed',
    'closed',
    'timeout',
    'other',
  ]);
  expect(await lines('handshake')).toEqual(shown([2, 0, 1, 0, 0, 1]));
});
