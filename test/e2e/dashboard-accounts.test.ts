import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type DashboardVisitor,
  dashboardAdmin,
  formFields,
  operator,
  operatorAt,
  tableRows,
} from '../support/dashboard-visitor.ts';
import { ask, configOf, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { completion } from '../support/hostile-setting.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { type RecordsPlace, recordsPlace, runCommand } from '../support/records-place.ts';
import { type ScriptedUpstream, startScriptedUpstream, whole } from '../support/scripted-upstream.ts';
import { until } from '../support/until.ts';
import { sampleRow } from '../unit/src/mount/ledger/sample-row.ts';

/** Accounts, who changed them, and what two instances with one Postgres know of each other. */

/** Said on the page itself, and in the documents: a change reaches every instance within this. */
const bound_ms = 5000;
const answer = whole(200, completion('Hello.'));

let postgres: PostgresServer;
let upstream: ScriptedUpstream;
let place: RecordsPlace;
let config: Parameters<typeof startGateway>[0];
let gateways: GatewayUnderTest[];
/** Of the first instance, and of the second. */
let visitor: DashboardVisitor;
let there: DashboardVisitor;

beforeAll(async () => {
  postgres = await startPostgres();
  upstream = await startScriptedUpstream(answer);
  place = await recordsPlace(postgres.url);
  config = {
    upstream,
    config: {
      admin: dashboardAdmin(),
      stores: place.stores,
      plans: {
        small: { requests_per_minute: 40, usd_per_month: 50 },
        tiny: { requests_per_minute: 2 },
        large: {},
      },
    },
  };
  gateways = await Promise.all(['one', 'two'].map(() => startGateway(config)));
  [visitor, there] = [await operatorAt(gateways[0]!), await operatorAt(gateways[1]!)];
  for (const each of [visitor, there]) await each.get('accounts');
}, 60_000);
afterAll(async () => {
  await Promise.all((gateways ?? []).map(gateway => gateway.close()));
  await place?.remove();
  await upstream?.close();
  await postgres?.stop();
});

const created = async (id: string, more: object = {}) => {
  expect((await visitor.post('accounts', { id, plan: 'small', ...more })).location).toBe(`account?id=${id}`);
  return `account?id=${id}`;
};
const asked = (at: number, key: string) =>
  gateways[at]!.post(ask('Hello'), { headers: { authorization: `Bearer ${key}` } });
const statusAt = async (at: number, key: string): Promise<number> => {
  const reply = await asked(at, key);
  await reply.arrayBuffer();
  return reply.status;
};
/** Waits until an instance answers with `status`, within the bound. */
async function untilStatus(at: number, key: string, status: number): Promise<void> {
  const since_ms = performance.now();
  await until(async () => (await statusAt(at, key)) === status);
  expect(performance.now() - since_ms).toBeLessThan(bound_ms);
}
const accountOf = (id: string) => place.look(async store => (await store.accounts.find(id))!);
const storedLimits = async (id: string) => (await accountOf(id)).limits;
const changeLimits = (id: string, limits: Record<string, unknown>, actor = 'test', at_ms = 1) =>
  place.look(store => store.accounts.change(id, { limits }, { actor, at_ms }));
const command = (...args: readonly string[]) => runCommand(configOf(config), ...args);
/** The value and the placeholder of a field. */
const fieldOf = (text: string, name: string) =>
  new RegExp(`name="${name}" value="([^"]*)" placeholder="([^"]*)"`).exec(text)?.slice(1);

describe('the audit log', () => {
  const day_ms = 86_400_000;
  const yesterday_ms = Date.parse('2026-01-19T12:00:00Z');

  beforeAll(() =>
    place.look(async ({ accounts, keys }) => {
      const by = (actor: string, at_ms: number) => ({ actor, at_ms });
      await accounts.create(
        { id: 'audited', plan: null, limits: { usd_per_month: 5 } },
        by('anna', yesterday_ms),
      );
      await accounts.change('audited', { limits: { usd_per_month: 50 } }, by('anna', yesterday_ms + day_ms));
      const key = { account: 'audited', name: '=HYPERLINK("x")', expires_ms: null };
      await keys.create(key, by('otto', yesterday_ms + day_ms + 1));
    }),
  );

  it.each<[string, string[]]>([
    [
      '',
      [
        'olga signed in',
        'olga signed in',
        'otto issued the key',
        'anna changed the account',
        'anna created the account',
      ],
    ],
    ['who=anna&action=account.change', ['anna changed the account']],
    ['action=key', ['otto issued the key']],
    ['target=audited&from=2026-01-20', ['anna changed the account']],
    ['target=audited&to=2026-01-19', ['anna created the account']],
    ['who=nobody', []],
    ['action=drop&who=anna', ['anna changed the account', 'anna created the account']],
  ])('is filtered by person, kind of change, target and days: %s', async (query, expected) => {
    const rows = tableRows((await visitor.get(`audit?${query}`)).text);
    expect(rows.map(([, who, , change]) => `${who} ${change}`)).toEqual(expected);
  });

  it('keeps its filters in the form and in the export, and shows what was there before', async () => {
    const { text } = await visitor.get('audit?who=anna&action=account&from=2026-01-19&to=tomorrow');
    for (const part of [
      'name="who" value="anna"',
      '<option value="account" selected>',
      'name="to" value=""',
      'href="audit-csv?who=anna&amp;action=account&amp;from=2026-01-19"',
      'Dollars per month: 5 → 50',
    ])
      expect(text).toContain(part);
    expect((await visitor.get('audit?target=nobody')).text).toContain('No change of “nobody” is recorded.');
  });

  it('is exported as CSV in which no text is a formula, and listed by the command', async () => {
    const { headers, text } = await visitor.get('audit-csv?who=otto');
    expect(headers.get('content-disposition')).toBe('attachment; filename="audit-log.csv"');
    const [titles, line, ...rest] = text.split('\r\n');
    expect(titles).toBe('time,who,from,action,target,detail');
    expect(line).toMatch(/^2026-01-20T12:00:00\.001Z,otto,,key\.create,key_\w+,"\{""account"":""audited""/);
    expect(rest).toEqual(['']);
    const { stdout, code } = await command('audit', '--action', 'account', '--to', '2026-01-19', '--csv');
    expect(code).toBe(0);
    expect(stdout).toContain('2026-01-19T12:00:00.000Z,anna,,account.create,audited,');
    expect(stdout.trim().split('\n')).toHaveLength(2);
  });
});

describe('the overrides of an account', () => {
  it('are edited by field, and limits on single models stay as they are', async () => {
    const page = await created('edited');
    const models = { 'v/one': { tokens_per_day: 7 } };
    await changeLimits('edited', { models });
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

    const small = { change: 'limits', requests_per_minute: '', usd_per_month: '0.000000001' };
    expect((await visitor.post(page, small)).status).toBe(303);
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
    for (const [name, value] of Object.entries(fields))
      expect([name, fieldOf(text, name)?.[0]]).toEqual([name, value.replace('"', '&quot;')]);
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
});

describe('an account that two people edit at once', () => {
  const buttons = { plan: 'value="plan"', limits: 'value="limits"', name: 'value="name"' };
  type Change = keyof typeof buttons;

  /** The forms of its page as both have loaded it, to be sent by either with what was typed. */
  async function loaded(id: string) {
    const page = await created(id);
    const { text } = await visitor.get(page);
    await there.get(page);
    const sent = async (who: DashboardVisitor, change: Change, typed: Record<string, string>) => {
      const { form_token: _, ...fields } = formFields(text, buttons[change]);
      return who.post(page, { ...fields, ...typed, change });
    };
    return { page, sent };
  }

  it('keeps what each of them has edited, also in one form', async () => {
    const { sent } = await loaded('both');
    const edits: [DashboardVisitor, Change, Record<string, string>][] = [
      [there, 'limits', { requests_per_minute: '5' }],
      [visitor, 'limits', { tokens_per_day: '900' }],
      [there, 'name', { display_name: 'Both' }],
      // Neither typed what is there already, nor sent without an edit.
      [visitor, 'limits', { requests_per_minute: '5' }],
      [visitor, 'name', {}],
      [visitor, 'plan', {}],
    ];
    for (const edit of edits) expect((await sent(...edit)).status).toBe(303);
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
      expect((await sent(there, change, { [field]: theirs })).status).toBe(303);
      const before = await accountOf(id);
      const refused = await sent(visitor, change, { [field]: mine });
      expect(refused).toMatchObject({
        status: 409,
        text: expect.stringContaining(`Changed meanwhile ${said}.`),
      });
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
    await changeLimits('by-command', { tokens_per_day: 7 });
    const set = (was: string) =>
      command('accounts', 'set-limits', 'by-command', '{"tokens_per_day": 8}', '--was', was);
    expect(await set('{}')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('it is {"tokens_per_day":7} now'),
    });
    expect((await set('{"tokens_per_day": 7}')).code).toBe(0);
    expect(await storedLimits('by-command')).toEqual({ tokens_per_day: 8 });
  });
});

describe('the changes of an account', () => {
  it('are shown newest first with old and new values, and link to the audit log of this account', async () => {
    const page = await created('history');
    await visitor.post(page, { change: 'limits', requests_per_minute: '5' });
    await visitor.post(page, { change: 'limits', requests_per_minute: '6', tokens_per_day: 'none' });
    await visitor.post(page, { change: 'plan', plan: '' });
    await changeLimits(
      'history',
      { models: { 'v/one': { tokens_per_day: 7 } } },
      'cli:olga',
      Date.now() + 1000,
    );
    const rowsOf = (text: string) =>
      [
        ...text.matchAll(
          /<td[^>]+>((?:created|changed) the account)<\/td>(?:<td[^>]+><a[^>]+>\w+<\/a><\/td>)?<td[^>]+>(.*?)<\/td>/g,
        ),
      ].map(([, ...cells]) => cells);
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
    const shown = (await visitor.get(page)).text;
    expect(rowsOf(shown)).toEqual(expected);
    expect(shown).toContain('href="audit?target=history"');
    const { text } = await visitor.get('audit?target=history');
    expect(rowsOf(text)).toEqual(expected);
    expect(text).toContain(operator.name);
  });
});

describe('an account that is disabled', () => {
  it('is answered 403 by every instance within 5 s, and its requests in flight end normally', async () => {
    const page = await created('switched');
    const { key } = await visitor.issue('switched');
    for (const at of [0, 1]) expect(await statusAt(at, key)).toBe(200);
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    upstream.replyOnce(async socket => {
      await held;
      socket.write(answer);
    });
    const before = upstream.requests.length;
    const inFlight = asked(0, key);
    await until(() => upstream.requests.length > before);

    expect((await visitor.post(page, { change: 'disable' })).status).toBe(303);
    const refused = await asked(0, key);
    expect([refused.status, await refused.json()]).toEqual([
      403,
      { error: { type: 'permission_error', message: 'This account is disabled.' } },
    ]);
    await untilStatus(1, key, 403);
    release();
    expect(await (await inFlight).json()).toMatchObject({ choices: [{ message: { content: 'Hello.' } }] });
    const { text } = await visitor.get(page);
    expect(text).toContain('Disabled since');
    expect(text).toContain('disabled the account');
    expect((await visitor.get('accounts')).text).toContain('<span class="state bad">disabled</span>');

    expect((await visitor.post(page, { change: 'enable' })).status).toBe(303);
    for (const at of [0, 1]) await untilStatus(at, key, 200);
  });

  it('can be disabled and enabled by command', async () => {
    await created('commanded');
    const { key } = await visitor.issue('commanded');
    expect(await command('accounts', 'disable', 'commanded')).toMatchObject({
      code: 0,
      stdout: 'disabled account commanded\n',
    });
    await untilStatus(0, key, 403);
    expect((await command('accounts', 'list', '--search', 'commanded')).stdout).toMatch(
      /commanded .* disabled /,
    );
    expect((await command('accounts', 'enable', 'commanded')).code).toBe(0);
    await untilStatus(0, key, 200);
    for (const [args, said] of [
      [['disable', 'nobody'], "there is no account 'nobody'"],
      [['disable', 'tester'], 'one of the configuration'],
      [['create', 'TESTER'], 'its name is taken'],
    ] as const)
      expect((await command('accounts', ...args)).stderr).toContain(said);
  });
});

describe('the display name of an account', () => {
  it('is shown beside its id, found by the search, and refused with control characters', async () => {
    const page = await created('named', { display_name: 'Olga’s <Lab>' });
    expect((await visitor.get(page)).text).toContain('<h1>named · Olga’s &lt;Lab&gt;</h1>');
    expect((await visitor.get('accounts?search=olga')).text).toContain(
      '<span class="muted">Olga’s &lt;Lab&gt;</span>',
    );
    for (const display_name of ['a\u0007b', 'x'.repeat(101)]) {
      const { status, text } = await visitor.post(page, { change: 'name', display_name });
      expect([status, text]).toEqual([422, expect.stringContaining('id="display-name-fault"')]);
    }
    expect((await visitor.post(page, { change: 'name', display_name: '' })).status).toBe(303);
    expect((await visitor.get(page)).text).toContain('<h1>named</h1>');
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
    const today = new Date().toISOString().slice(0, 10);
    for (const part of [
      'aria-label="Cost by day; the table by day has the figures"',
      'aria-label="Requests by day; the table by day has the figures"',
      'href="requests?account=spender"',
      'href="usage?account=spender&amp;time=30d"',
      `<title>${today}\nv/one: $5.00\nv/two: $5.00</title>`,
    ])
      expect(text).toContain(part);
  });
});

describe('two instances', () => {
  it('share accounts and keys: a change in one takes effect in the other', async () => {
    const page = await created('acme', { plan: 'tiny' });
    const { key } = await visitor.issue('acme', { name: 'shared', expires: 'month' });
    expect([await statusAt(0, key), await statusAt(1, key)]).toEqual([200, 200]);
    expect((await there.get('keys?search=shared')).text).toContain('1 active key');
    expect((await there.submit(page, { plan: 'large' })).status).toBe(303);
    expect([await statusAt(1, key), await statusAt(1, key)]).toEqual([200, 200]);
    await statusAt(0, key);
    await untilStatus(0, key, 200);
  });

  it.each<[string, Record<string, string>, number, string]>([
    ['accounts', { id: 'ACME' }, 422, 'There is an account “acme” already.'],
    ['accounts', { id: 'Tester' }, 422, 'The configuration has an account “tester” already.'],
    ['accounts', { id: 'new', plan: 'huge' }, 422, 'There is no plan “huge” in the configuration.'],
    ['accounts', { id: ' ' }, 422, 'A name begins with a letter or digit'],
    ['account?id=tester', { plan: 'small' }, 422, 'This account is changed in the configuration file.'],
    ['account?id=tester', { change: 'disable' }, 422, 'changed in the configuration file'],
    ['account?id=acme', { plan: 'huge' }, 422, 'There is no plan “huge” in the configuration.'],
    ['account?id=acme', { change: 'nothing' }, 400, ''],
    ['issue?account=nobody', { name: 'x' }, 404, 'There is no account “nobody”.'],
    ['issue?account=acme', { expires: 'later' }, 422, '“later” is not a lifetime of keys.'],
    ['issue?account=acme', { name: 'x'.repeat(201) }, 422, 'A name has 200 characters at most'],
    ['issue?account=acme', { name: 'a\0b' }, 422, 'none of them control characters.'],
    ['revoke?id=key_none', {}, 404, 'There is no such key.'],
  ])('reject an invalid change with a readable message: %s %j', async (page, fields, status, said) => {
    await visitor.get('accounts');
    const reply = await visitor.post(page, fields);
    const told = /role="alert">([^<]+)</.exec(reply.text)?.[1] ?? /<h1>([^<]+)</.exec(reply.text)?.[1];
    expect([reply.status, told]).toEqual([status, expect.stringContaining(said)]);
  });

  it('share sessions, and the key that a sealed cookie shows once, until signing out at either', async () => {
    const here = await operatorAt(gateways[0]!);
    expect((await here.movedTo(there.base).get('keys')).text).toContain(operator.name);
    await here.get('account?id=tester');
    const { location } = await here.post('issue?account=tester', { name: 'seen there', expires: 'month' });
    const [sealed = ''] = [...here.cookies.keys()].filter(name => name.startsWith('sluice_key'));
    const value = here.cookies.get(sealed)!;
    const other = here.movedTo(there.base);
    const changed = value[40] === 'A' ? 'B' : 'A';
    other.cookies.set(sealed, value.slice(0, 40) + changed + value.slice(41));
    expect((await other.get(location!)).text).toContain('A key is shown once');
    other.cookies.set(sealed, value);
    expect(await other.secretAt(location)).toMatch(/^sk-sluice-[^<]+$/);
    other.token = here.token;
    expect((await other.post('sign-out', {})).location).toBe('sign-in');
    expect((await here.get('keys')).status).toBe(303);
  });

  it('report a store outage and change nothing', async () => {
    // A character that Postgres does not take.
    expect((await visitor.get('keys?search=%00')).status).toBe(422);
    await visitor.get('accounts');
    await postgres.stop();
    const told = expect.stringContaining('The records store does not answer.');
    for (const page of ['accounts', 'account?id=acme', 'keys', 'audit']) {
      const { status, text } = await visitor.get(page);
      expect([page, status, text]).toEqual([page, 503, told]);
    }
    // Of an account of the configuration only the keys are in the store.
    expect((await visitor.post('accounts', { id: 'late' })).status).toBe(503);
    // The session would go on when the store is back, and at the other instance.
    const still = await visitor.post('sign-out', {});
    expect(still).toMatchObject({ status: 503, text: expect.stringContaining('Nothing has been changed.') });
  });
});
