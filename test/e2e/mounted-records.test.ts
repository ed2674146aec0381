import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { post } from '../support/chain-app.ts';
import { alongside, startApp } from '../support/express-app.ts';
import { ask } from '../support/gateway-under-test.ts';
import { completion } from '../support/hostile-setting.ts';
import { closeMounted, mountable } from '../support/mounted-gateway.ts';
import { openRecords } from '../support/open-records.ts';
import { recordsTargets } from '../support/records-targets.ts';
import { startScriptedUpstream, whole } from '../support/scripted-upstream.ts';

const targets = recordsTargets();
afterEach(closeMounted);

const answering = async () => alongside(await startScriptedUpstream(whole(200, completion('Hello.'))));
const stores = () => ({ ledger_queue: `${targets.newFile()}-queue` });

describe("a gateway whose records are in the application's pool", () => {
  it('takes keys that the command line issues, writes its ledger there, and leaves the pool open', async () => {
    const pool = await targets.newPool({ max: 1, options: '-c search_path=app' });
    const gateway = await mountable(
      await answering(),
      { accounts: {}, plans: {}, stores: stores() },
      { records: pool },
    );
    expect(gateway.settings.warnings).toEqual([]);
    const app = await startApp(app => app.use(gateway));
    // As the command does, with a URL of its own.
    const command = await openRecords({ kind: 'postgres', url: pool.options.connectionString! });
    const cli = { actor: 'cli:alice', at_ms: Date.now() };
    await command.accounts.create({ id: 'acme', plan: null, limits: {} }, cli);
    const { key } = await command.keys.create({ account: 'acme', name: '', expires_ms: null }, cli);
    await command.close();
    const headers = { authorization: `Bearer ${key}` };
    const reply = await post(`${app.url}/v1/chat/completions`, ask('Hello?'), headers);
    expect(await reply.json()).toMatchObject({ object: 'chat.completion' });
    await gateway.close();
    const { rows } = await pool.query('SELECT account, status FROM sluice.ledger');
    expect(rows).toEqual([{ account: 'acme', status: 200 }]);
  });

  it('rejects stores.records beside it', async () => {
    const records = await targets.newPool();
    const upstream = { url: 'http://127.0.0.1:9/v1' };
    for (const place of ['memory', `sqlite:${join(targets.newFile())}`])
      await expect(mountable(upstream, { stores: { records: place } }, { records })).rejects.toThrow(
        'stores.records: cannot be given here and as the option records; remove one of the two',
      );
  });

  it('says that the pool cannot be used, and starts when its server is down', async () => {
    const upstream = { url: 'http://127.0.0.1:9/v1' };
    const options = (code: string, message: string) => ({
      records: { connect: () => Promise.reject(Object.assign(new Error(message), { code })) },
    });
    await expect(
      mountable(upstream, { stores: stores() }, options('28P01', 'password authentication failed')),
    ).rejects.toThrow('the pool of the option records cannot be used: password authentication failed');
    const gateway = await mountable(upstream, { stores: stores() }, options('ECONNREFUSED', 'it is down'));
    expect(gateway.ready).toBe(true);
  });
});
