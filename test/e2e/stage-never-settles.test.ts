import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ledgerOf } from '../fixtures/stages/ledger.ts';
import { stuck, stuckHooks } from '../fixtures/stages/stuck.ts';
import { requestOf } from '../support/chain-connection.ts';
import { alongside, closeApps } from '../support/express-app.ts';
import { ask, startGateway } from '../support/gateway-under-test.ts';
import { completion } from '../support/hostile-setting.ts';
import { RawConnection } from '../support/raw-client.ts';
import { startScriptedUpstream, whole } from '../support/scripted-upstream.ts';
import { ownStages } from '../support/settlement.ts';
import { until } from '../support/until.ts';

beforeEach(() => {
  stuck.calls = 0;
});
afterEach(closeApps);

/** A request that waits in a hook which never settles. */
async function waitingIn(hook: (typeof stuckHooks)[number], book: string, server: object = {}) {
  const upstream = alongside(await startScriptedUpstream(whole(200, completion('Hello.'))));
  const stages = ownStages(['ledger', { book }], ['stuck', { hook }]);
  const { url, gateway, metric, close } = await startGateway({ upstream, stages, server });
  alongside({ close });
  const connection = new RawConnection(url);
  alongside({ close: () => connection.destroy() });
  connection.write(requestOf(ask('Hello?')));
  await until(() => stuck.calls === 1);
  const outcomes = () => ledgerOf(book).map(({ outcome }) => outcome);
  return { connection, gateway, metric, outcomes };
}

describe.each(stuckHooks)('a hook %s that never settles', hook => {
  it('does not keep the gateway from closing, and its exchange is settled and counted', async () => {
    const { connection, gateway, metric, outcomes } = await waitingIn(hook, `${hook} stuck`);
    const counted = () => metric('sluice_stage_refusals_total', { stage: 'stuck', hook });
    const before = await counted();
    const started_ms = performance.now();
    await gateway.close(0);
    expect(performance.now() - started_ms).toBeLessThan(5000);
    await connection.received(/"type":"server_error"/);
    expect(connection.text).toMatch(/^HTTP\/1\.1 502 /);
    expect(outcomes()).toMatchObject([{ status: 502, end_reason: 'shutdown', error_type: 'server_error' }]);
    expect((await counted()) - before).toBe(1);
    expect(gateway.inFlight).toBe(0);
  });

  it('fails after the time limit, and its exchange is settled', async () => {
    const { connection, gateway, outcomes } = await waitingIn(hook, `${hook} late`, {
      non_stream_timeout_ms: 300,
    });
    await connection.received(/"type":"server_error"/);
    await until(() => gateway.inFlight === 0);
    expect(outcomes()).toMatchObject([{ status: 502, end_reason: 'internal_error' }]);
  });

  it('does not keep the gateway from closing after its client has left', async () => {
    const { connection, gateway, outcomes } = await waitingIn(hook, `${hook} left`);
    connection.destroy();
    await until(() => connection.socket.closed);
    await gateway.close(50);
    expect(outcomes()).toMatchObject([{ status: 0, end_reason: 'client_gone' }]);
  });
});

it('names a stage whose close never settles, and closes everything else', async () => {
  const upstream = alongside(await startScriptedUpstream(whole(200, completion('Hello.'))));
  const stages = ownStages(['stuck', { hook: 'close' }]);
  const { gateway, close } = await startGateway({ upstream, stages });
  await expect(gateway.close()).rejects.toThrow(
    'the stage stuck failed to close: close did not settle within 5 s',
  );
  await close().catch(() => {});
  await until(() => upstream.open === 0);
});
