import { afterEach, expect, it } from '@jest/globals';
import { defineStage, GatewayError } from '../../src/plugin.ts';
import { capturedLog } from '../support/captured-log.ts';
import { chainOf, post, settlements } from '../support/chain-app.ts';
import { closeApps, startApp } from '../support/express-app.ts';
import { ask } from '../support/gateway-under-test.ts';
import { until } from '../support/until.ts';

afterEach(closeApps);

it.each([
  ['server_error', 503, 50, 'internal_error', {}, null],
  ['provider_error', 503, 40, 'upstream_failed', {}, null],
  ['maintenance', 503, 40, 'refused', {}, null],
  ['permission_error', 403, 20, 'refused', {}, 'false'],
  ['permission_error', 403, 20, 'refused', { 'retry-after': '60' }, null],
  ['conflict', 409, 20, 'refused', {}, null],
])('logs and settles an error of a stage with type %s and status %d at level %d as %s', async (...row) => {
  const [type, status, level, end_reason, headers, advice] = row;
  const failing = defineStage({
    name: 'failing',
    create: () => ({
      onRequest() {
        throw new GatewayError(type, status, 'Not now.', { headers, cause: new Error('inner words') });
      },
    }),
  });
  const { log, lines } = capturedLog('debug');
  const { outcomes, stage } = settlements();
  const app = await startApp(app => void app.use(chainOf([stage, failing()], { log })));
  const reply = await post(`${app.url}/v1/chat/completions`, ask('Hello?'));
  expect([reply.status, reply.headers.get('x-should-retry')]).toEqual([status, advice]);
  await until(() => outcomes.length === 1);
  expect(outcomes[0]).toMatchObject({ end_reason, error_type: type });
  const told = lines.filter(({ err }) => err !== undefined);
  expect(told).toEqual([
    expect.objectContaining({ level, type, err: expect.objectContaining({ message: 'inner words' }) }),
  ]);
});
