import { afterEach, expect, it } from '@jest/globals';
import { ledgerOf } from '../fixtures/stages/ledger.ts';
import { capturedLog } from '../support/captured-log.ts';
import { post } from '../support/chain-app.ts';
import { alongside, startApp } from '../support/express-app.ts';
import { ask } from '../support/gateway-under-test.ts';
import { completion } from '../support/hostile-setting.ts';
import { closeMounted, mountable } from '../support/mounted-gateway.ts';
import { startScriptedUpstream, whole } from '../support/scripted-upstream.ts';
import { ownStages } from '../support/settlement.ts';
import { until } from '../support/until.ts';

afterEach(closeMounted);

/** A log that writes its faults, and throws for the line of an exchange. */
function failingLog() {
  const { log, lines } = capturedLog();
  const throwing = {
    info() {
      throw new Error('the disk is full');
    },
  };
  const child = log.child.bind(log);
  return {
    log: Object.assign(log, { child: (fields: object) => Object.assign(child(fields), throwing) }),
    lines,
  };
}

it('releases the body and calls onSettled when the log of the application throws at the end', async () => {
  const upstream = alongside(await startScriptedUpstream(whole(200, completion('Hello.'))));
  const { log, lines } = failingLog();
  const stages = ownStages(['ledger', { book: 'failing log' }]);
  const gateway = await mountable(upstream, { stages }, { log: log as never });
  const app = await startApp(app => app.use(gateway));
  const reply = await post(`${app.url}/v1/chat/completions`, ask('Hello?'));
  expect([reply.status, await reply.json()]).toMatchObject([200, { object: 'chat.completion' }]);
  await until(() => gateway.inFlight === 0);
  expect(ledgerOf('failing log')).toMatchObject([{ outcome: { status: 200, end_reason: 'completed' } }]);
  const buffered = await gateway.registry.getSingleMetric('sluice_buffered_request_bytes')?.get();
  expect(buffered?.values).toMatchObject([{ value: 0 }]);
  expect(lines.filter(({ msg }) => msg === 'failed to finalize request')).toMatchObject([
    { err: { message: 'the disk is full' } },
  ]);
});
