import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DashboardVisitor, dashboardAdmin, formFields, operator } from '../support/dashboard-visitor.ts';
import { ask, configOf, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { completion } from '../support/hostile-setting.ts';
import { type RecordsPlace, recordsPlace, runCommand } from '../support/records-place.ts';
import { type ScriptedUpstream, startScriptedUpstream, whole } from '../support/scripted-upstream.ts';
import { until } from '../support/until.ts';
import { sampleRow } from '../unit/src/stores/ledger/sample-row.ts';

/** Said on the page itself. */
const bound_ms = 5000;
const disabled = { error: { type: 'permission_error', message: 'This account is disabled.' } };
const answer = whole(200, completion('Hello.'));

let upstream: ScriptedUpstream;
let place: RecordsPlace;
let config: Parameters<typeof startGateway>[0];
let gateways: GatewayUnderTest[];
let visitor: DashboardVisitor;

beforeAll(async () => {
  upstream = await startScriptedUpstream(answer);
  place = await recordsPlace();
  config = {
    upstream,
    config: {
      admin: dashboardAdmin(),
      stores: place.stores,
      plans: { small: { requests_per_minute: 40, usd_per_month: 50 }, large: {} },
    },
  };
  gateways = [];
  // One after the other: both bring the schema up to date.
  for (const _ of ['one', 'two']) gateways.push(await startGateway(config));
  visitor = new DashboardVisitor(`${gateways[0]!.adminUrl}/dashboard/`);
  await visitor.signIn();
  await visitor.get('accounts');
}, 60_000);
afterAll(async () => {
  await Promise.all((gateways ?? []).map(gateway => gateway.close()));
  await place?.remove();
  await upstream?.close();
});

const created = async (id: string, more: object = {}) => {
  expect((await visitor.post('accounts', { id, plan: 'small', ...more })).location).toBe(`account?id=${id}`);
  return `account?id=${id}`;
};
const keyOf = async (account: string): Promise<string> => {
  const { location } = await visitor.post(`issue?account=${account}`, { name: '', expires: 'never' });
  return /id="secret">([^<]+)</.exec((await visitor.get(location!)).text)![1]!;
};
const asked = (gateway: GatewayUnderTest, key: string) =>
  gateway.post(ask('Hello'), { headers: { authorization: `Bearer ${key}` } });
const storedLimits = (id: string) => place.look(async store => (await store.accounts.find(id))!.limits);
/** The value and the placeholder of a field. */
const fieldOf = (text: string, name: string) =>
  new RegExp(`name="${name}" value="([^"]*)" placeholder="([^"]*)"`).exec(text)?.slice(1);

describe('the overrides of an account', () => {
  it('are edited by field, and limits on single models stay as they are', async () => {
    const page = await created('edited');
    const models = { 'v/one': { tokens_per_day: 7 } };
    await place.look(store =>
      store.accounts.change('edited', { limits: { models } }, { actor: 'test', at_ms: 1 }),
    );
    const before = (await visitor.get(page)).text;
    expect(fieldOf(before, 'requests_per_minute')).toEqual(['', '40']);
    expect(fieldOf(before, 'tokens_per_day')).toEqual(['', 'not limited']);
    expect(before).toMatch(/v\/one<\/td><td[^>]+>Tokens per day<\/td><td[^>]+>7</);

    const fields = { requests_per_minute: ' 5 ', usd_per_month: 'none', tokens_per_day: '' };
    expect((await visitor.post(page, { change: 'limits', ...fields })).location).toBe(page);
    expect(await storedLimits('edited')).toEqual({ requests_per_minute: 5, usd_per_month: null, models });
    const after = (await visitor.get(page)).text;
    expect(fieldOf(after, 'requests_per_minute')).toEqual(['5', '40']);
    expect(fieldOf(after, 'usd_per_month')).toEqual(['none', '50']);
    expect(after).not.toContain('{&quot;');

    expect(
      (await visitor.post(page, { change: 'limits', requests_per_minute: '', usd_per_month: '0.000000001' }))
        .status,
    ).toBe(303);
    expect(await storedLimits('edited')).toEqual({ usd_per_month: '0.000000001', models });
  });

  it('that are refused are told at their field, and what was typed stays', async () => {
    const page = await created('refused');
    const fields = {
      requests_per_minute: '-1',
      tokens_per_day: 'many',
      concurrent_requests: '"3',
      usd_per_month: '9',
    };
    const { status, text } = await visitor.post(page, { change: 'limits', ...fields });
    expect(status).toBe(422);
    expect(text).toContain('see the fields below');
    expect(fieldOf(text, 'requests_per_minute')?.[0]).toBe('-1');
    expect(fieldOf(text, 'concurrent_requests')?.[0]).toBe('&quot;3');
    expect(fieldOf(text, 'usd_per_month')?.[0]).toBe('9');
    const faults = [...text.matchAll(/class="fault" id="limit-(\w+)-fault">([^<]+)</g)].map(
      ([, ...fault]) => fault,
    );
    expect(faults).toEqual([
      ['requests_per_minute', 'must be above 0, not -1'],
      ['tokens_per_day', 'must be a number, not &#39;many&#39;'],
      ['concurrent_requests', expect.stringContaining('must be a number')],
    ]);
    expect(await storedLimits('refused')).toEqual({});
  });

  it('of an account of the configuration cannot be changed here', async () => {
    const { status, text } = await visitor.post('account?id=tester', { change: 'disable' });
    expect([status, text]).toEqual([422, expect.stringContaining('changed in the configuration file')]);
    expect((await visitor.post(await created('odd'), { change: 'nothing' })).status).toBe(400);
  });
});

describe('an account that two people edit at once', () => {
  const buttons = { plan: 'value="plan"', limits: 'value="limits"', name: 'value="name"' };
  type Change = keyof typeof buttons;
  let other: DashboardVisitor;

  beforeAll(async () => {
    other = new DashboardVisitor(`${gateways[1]!.adminUrl}/dashboard/`);
    await other.signIn();
  });

  /** The forms of its page as both have loaded it, to be sent by either with what was typed. */
  async function loaded(id: string) {
    const page = await created(id);
    const { text } = await visitor.get(page);
    await other.get(page);
    const sent = (who: DashboardVisitor, change: Change, typed: Record<string, string>, from = text) => {
      const { form_token: _, ...fields } = formFields(from, buttons[change]);
      return who.post(page, { ...fields, ...typed, change });
    };
    return { page, sent };
  }
  const accountOf = (id: string) => place.look(async store => (await store.accounts.find(id))!);

  it('keeps what each of them has edited, also in one form', async () => {
    const { sent } = await loaded('both');
    expect((await sent(other, 'limits', { requests_per_minute: '5' })).status).toBe(303);
    expect((await sent(visitor, 'limits', { tokens_per_day: '900' })).status).toBe(303);
    expect((await sent(other, 'name', { display_name: 'Both' })).status).toBe(303);
    // Neither typed what is there already, nor sent without an edit.
    expect((await sent(visitor, 'limits', { requests_per_minute: '5' })).status).toBe(303);
    expect((await sent(visitor, 'name', {})).status).toBe(303);
    expect((await sent(visitor, 'plan', {})).status).toBe(303);
    expect(await accountOf('both')).toMatchObject({
      plan: 'small',
      display_name: 'Both',
      limits: { requests_per_minute: 5, tokens_per_day: 900 },
    });
  });

  it.each<[Change, string, string, string, string]>([
    ['limits', 'requests_per_minute', '5', '6', 'from nothing to “5”'],
    ['plan', 'plan', '', 'large', 'from “small” to nothing'],
    ['name', 'display_name', 'Theirs', 'Mine', 'from nothing to “Theirs”'],
  ])(
    'shows what the other changed by the form for %s, and saves it when it is sent again',
    async (change, field, theirs, mine, said) => {
      const id = `conflict-${change}`;
      const { page, sent } = await loaded(id);
      expect((await sent(other, change, { [field]: theirs })).status).toBe(303);
      const before = await accountOf(id);
      const refused = await sent(visitor, change, { [field]: mine });
      expect([refused.status, refused.text]).toEqual([
        409,
        expect.stringContaining(`Changed meanwhile ${said}.`),
      ]);
      expect(refused.text).toMatch(/role="alert">Nothing was saved: what you edited was changed by another/);
      expect(await accountOf(id)).toEqual(before);
      const again = formFields(refused.text, buttons[change]);
      expect(again[field]).toBe(mine);
      expect((await visitor.post(page, { ...again, change })).status).toBe(303);
      const { plan, display_name, limits } = await accountOf(id);
      expect({ plan, display_name, ...limits }).toMatchObject({ [field]: change === 'limits' ? 6 : mine });
    },
  );

  it('is not overwritten by a command that says what was there before', async () => {
    await created('by-command');
    const set = (json: string, was: string) =>
      runCommand(configOf(config), 'accounts', 'set-limits', 'by-command', json, '--was', was);
    await place.look(store =>
      store.accounts.change('by-command', { limits: { tokens_per_day: 7 } }, { actor: 'test', at_ms: 1 }),
    );
    const refused = await set('{"tokens_per_day": 8}', '{}');
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining('it is {"tokens_per_day":7} now'),
    ]);
    expect((await set('{"tokens_per_day": 8}', '{"tokens_per_day": 7}')).code).toBe(0);
    expect(await storedLimits('by-command')).toEqual({ tokens_per_day: 8 });
  });
});

describe('the changes of an account', () => {
  it('are shown newest first with old and new values, and link to the audit log of this account', async () => {
    const page = await created('history');
    await created('other');
    await visitor.post(page, { change: 'limits', requests_per_minute: '5' });
    await visitor.post(page, { change: 'limits', requests_per_minute: '6', tokens_per_day: 'none' });
    await visitor.post(page, { change: 'plan', plan: '' });
    const models = { 'v/one': { tokens_per_day: 7 } };
    await place.look(store =>
      store.accounts.change(
        'history',
        { limits: { models } },
        { actor: 'cli:olga', at_ms: Date.now() + 1000 },
      ),
    );
    const rowsOf = (text: string) =>
      [
        ...text.matchAll(
          /<td[^>]+>((?:created|changed) the account)<\/td>(?:<td[^>]+><a[^>]+>\w+<\/a><\/td>)?<td[^>]+>(.*?)<\/td>/g,
        ),
      ].map(([, ...cells]) => cells);
    const shown = (await visitor.get(page)).text;
    const expected = [
      [
        'changed the account',
        'Requests per minute: 6 → as the plan<br>Tokens per day: not limited → as the plan<br>Tokens per day of v/one: as the plan → 7',
      ],
      ['changed the account', 'plan: small → none'],
      ['changed the account', 'Requests per minute: 5 → 6<br>Tokens per day: as the plan → not limited'],
      ['changed the account', 'Requests per minute: as the plan → 5'],
      ['created the account', 'plan: small'],
    ];
    expect(rowsOf(shown)).toEqual(expected);
    expect(shown).toContain('href="audit?target=history"');
    const { text } = await visitor.get('audit?target=history');
    expect(rowsOf(text)).toEqual(expected);
    expect(text).toContain(operator.name);
    expect((await visitor.get('audit?target=nobody')).text).toContain('No change of “nobody” is recorded.');
  });
});

describe('an account that is disabled', () => {
  it('is answered 403 by every instance within 5 s, and its requests in flight end normally', async () => {
    const page = await created('switched');
    const key = await keyOf('switched');
    for (const gateway of gateways) expect((await asked(gateway, key)).status).toBe(200);
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    upstream.replyOnce(async socket => {
      await held;
      socket.write(answer);
    });
    const before = upstream.requests.length;
    const inFlight = asked(gateways[0]!, key);
    await until(() => upstream.requests.length > before);

    expect((await visitor.post(page, { change: 'disable' })).status).toBe(303);
    const since_ms = performance.now();
    const refused = await asked(gateways[0]!, key);
    expect([refused.status, await refused.json()]).toEqual([403, disabled]);
    await until(async () => (await asked(gateways[1]!, key)).status === 403);
    expect(performance.now() - since_ms).toBeLessThan(bound_ms);
    release();
    expect(await (await inFlight).json()).toMatchObject({ choices: [{ message: { content: 'Hello.' } }] });
    const { text } = await visitor.get(page);
    expect(text).toContain('Disabled since');
    expect(text).toContain('disabled the account');
    expect((await visitor.get('accounts')).text).toContain('<span class="state bad">disabled</span>');

    expect((await visitor.post(page, { change: 'enable' })).status).toBe(303);
    for (const gateway of gateways) await until(async () => (await asked(gateway, key)).status === 200);
  });

  it('can be disabled and enabled by command', async () => {
    await created('commanded');
    const command = (...args: readonly string[]) => runCommand(configOf(config), 'accounts', ...args);
    const key = await keyOf('commanded');
    expect(await command('disable', 'commanded')).toMatchObject({
      code: 0,
      stdout: 'disabled account commanded\n',
    });
    await until(async () => (await asked(gateways[0]!, key)).status === 403);
    expect((await command('list', '--search', 'commanded')).stdout).toMatch(/commanded .* disabled /);
    expect((await command('enable', 'commanded')).code).toBe(0);
    await until(async () => (await asked(gateways[0]!, key)).status === 200);
    expect((await command('disable', 'nobody')).stderr).toContain("there is no account 'nobody'");
    expect((await command('disable', 'tester')).stderr).toContain('one of the configuration');
    expect((await command('create', 'TESTER')).stderr).toContain('its name is taken');
  }, 60_000);
});

describe('the display name of an account', () => {
  it('is shown beside its id, found by the search, and refused with control characters', async () => {
    const page = await created('named', { display_name: 'Olga’s <Lab>' });
    expect((await visitor.get(page)).text).toContain('<h1>named · Olga’s &lt;Lab&gt;</h1>');
    expect((await visitor.get('accounts?search=olga')).text).toContain(
      '<span class="muted">Olga’s &lt;Lab&gt;</span>',
    );
    const refused = await visitor.post(page, { change: 'name', display_name: 'a\u0007b' });
    expect([refused.status, refused.text]).toEqual([422, expect.stringContaining('id="display-name-fault"')]);
    expect((await visitor.post(page, { change: 'name', display_name: 'x'.repeat(101) })).status).toBe(422);
    expect((await visitor.post(page, { change: 'name', display_name: '' })).status).toBe(303);
    expect((await visitor.get(page)).text).toContain('<h1>named</h1>');
  });

  it('does not make room for a name that differs in upper and lower case only', async () => {
    await created('Cased');
    const { status, text } = await visitor.post('accounts', { id: 'cASED' });
    expect([status, text]).toEqual([422, expect.stringContaining('There is an account “Cased” already.')]);
    const configured = await visitor.post('accounts', { id: 'Tester' });
    expect(configured.text).toContain('The configuration has an account “tester” already.');
  });
});

describe('the spend of an account', () => {
  it('is shown for 30 days by day, and this month against its limit', async () => {
    const page = await created('spender');
    expect((await visitor.get(page)).text).toContain('No requests in the last 30 days.');
    const row = { account: 'spender', started_ms: Date.now(), cost_usd: '5' };
    await place.look(store => store.ledger.insert([sampleRow(row), sampleRow({ ...row, model: 'v/two' })]));
    const { text } = await visitor.get(page);
    expect(text).toMatch(/\$10\.00<\/data><\/strong> <span class="muted">of \$50\.00, 20\.0 %/);
    expect(text).toContain('aria-label="Cost by day; the table by day has the figures"');
    expect(text).toContain('aria-label="Requests by day; the table by day has the figures"');
    expect(text).toContain('href="requests?account=spender"');
    expect(text).toContain('href="usage?account=spender&amp;time=30d"');
    const today = new Date().toISOString().slice(0, 10);
    expect(text).toContain(`<title>${today}\nv/one: $5.00\nv/two: $5.00</title>`);
  });
});
