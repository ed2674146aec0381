import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { KeyRecord } from '../../src/records/key-records.ts';
import {
  DashboardVisitor,
  dashboardAdmin,
  formFields,
  linkIn,
  operator,
  operatorAt,
  password_hash,
  secretIn,
  tableRows,
} from '../support/dashboard-visitor.ts';
import {
  ask,
  clientKey,
  configOf,
  type GatewayUnderTest,
  startGateway,
} from '../support/gateway-under-test.ts';
import { completion } from '../support/hostile-setting.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { type RecordsPlace, recordsPlace, runCommand } from '../support/records-place.ts';
import { type ScriptedUpstream, startScriptedUpstream, whole } from '../support/scripted-upstream.ts';
import { until } from '../support/until.ts';
import { sampleRow } from '../unit/src/mount/ledger/sample-row.ts';

/** Accounts and keys, who changed them, and what two instances with one Postgres know of each other. */

const day_ms = 86_400_000;

/** Said on the page itself, and in the documents: a change reaches every instance within this. */
const bound_ms = 5000;
const usage = { prompt_tokens: 60, completion_tokens: 30, total_tokens: 90 };
const answer = whole(200, completion('Hello.', {}, { usage }));

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
      admin: dashboardAdmin({ users: { [operator.name]: { password_hash }, otto: { password_hash } } }),
      stores: place.stores,
      plans: {
        small: { requests_per_minute: 40, usd_per_month: 50 },
        tiny: { requests_per_minute: 2 },
        large: {},
      },
      tags: { team: ['search', 'ads'] },
      // Nothing is sent: nobody listens there.
      notices: { mail: { host: '127.0.0.1', port: 1, from: 'sluice@example.com' }, poll_ms: day_ms },
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
  expect((await visitor.post('accounts', { id, plan: 'small', ...more })).location).toBe(
    `keys?account=${id}`,
  );
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

async function newAccount(id: string): Promise<string> {
  await visitor.submit('accounts', { id });
  return id;
}
/** Issues a key for the account of the configuration. */
const issue = (fields: Readonly<Record<string, string>>) => visitor.issue('tester', fields);
const recordOf = (id: string): Promise<KeyRecord> =>
  place.look(async ({ keys }) => (await keys.find(id)) as KeyRecord);
const keysIn = (account: string) => place.look(({ keys }) => keys.count({ account }));
const idIn = (location: string | undefined) => new URLSearchParams(location!.split('?')[1]).get('id')!;

/** The fields of the form that changes a key, as the page shows them. */
async function fieldsOf(of: DashboardVisitor, id: string): Promise<Record<string, string>> {
  const { form_token: _, ...fields } = formFields((await of.get(`key?id=${id}`)).text, 'Save changes');
  return fields;
}

describe('the audit log', () => {
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
    await created('edited');
    const page = 'limits?account=edited';
    const models = { 'v/one': { tokens_per_day: 7 } };
    await changeLimits('edited', { models });
    const before = (await visitor.get(page)).text;
    expect(fieldOf(before, 'requests_per_minute')).toEqual(['', '40']);
    expect(fieldOf(before, 'tokens_per_day')).toEqual(['', 'not limited']);
    expect(before).toMatch(/v\/one<\/td><td[^>]+>Tokens per day<\/td><td[^>]+>7</);

    const fields = { requests_per_minute: ' 5 ', usd_per_month: 'none', tokens_per_day: '' };
    expect((await visitor.post(page, fields)).location).toBe(page);
    expect(await storedLimits('edited')).toEqual({ requests_per_minute: 5, usd_per_month: null, models });
    const after = (await visitor.get(page)).text;
    expect(fieldOf(after, 'requests_per_minute')).toEqual(['5', '40']);
    expect(fieldOf(after, 'usd_per_month')).toEqual(['none', '50']);
    expect(after).not.toContain('{&quot;');

    const small = { requests_per_minute: '', usd_per_month: '0.000000001' };
    expect((await visitor.post(page, small)).status).toBe(303);
    expect(await storedLimits('edited')).toEqual({ usd_per_month: '0.000000001', models });
  });

  it('that are refused are told at their field, and what was typed stays', async () => {
    await created('refused');
    const fields = {
      requests_per_minute: '-1',
      tokens_per_day: 'many',
      concurrent_requests: '"3',
      usd_per_month: '9',
    };
    const { status, text } = await visitor.post('limits?account=refused', fields);
    expect(status).toBe(422);
    expect(text).toContain('see the fields below');
    for (const [name, value] of Object.entries(fields))
      expect([name, fieldOf(text, name)?.[0]]).toEqual([name, value.replace('"', '&quot;')]);
    const faults = [...text.matchAll(/class="fault" id="limit-(\w+)-fault">([^<]+)</g)].map(
      ([, ...fault]) => fault,
    );
    expect(faults).toEqual([
      ['requests_per_minute', expect.stringContaining('“-1” cannot be read: write a whole number')],
      ['tokens_per_day', expect.stringContaining('“many” cannot be read')],
      ['concurrent_requests', expect.stringContaining('cannot be read')],
    ]);
    expect(await storedLimits('refused')).toEqual({});
  });
});

describe('the limits of an account', () => {
  it('are raised until a time, which is told and can be ended, and are then the plan’s again', async () => {
    await created('raised');
    const page = 'limits?account=raised';
    const { text } = await visitor.get(page);
    const [, tonight] = /<option value="(\d+)" selected>tonight,/.exec(text)!;
    const form = { change: 'raise', limit: 'requests_per_minute', until: tonight! };
    for (const [to, said] of [
      ['1,5', 'cannot be read: write a whole number'],
      ['40', 'It is 40 already'],
    ] as const) {
      const refused = await visitor.post(page, { ...form, to });
      expect(refused).toMatchObject({ status: 422, text: expect.stringContaining(said) });
      expect(refused.text).toContain(`name="to" value="${to}"`);
    }
    expect((await visitor.post(page, { ...form, to: '2k', until: '1' })).text).toContain('passed already');
    expect((await visitor.post(page, { ...form, to: '2k' })).location).toBe(page);
    const until = new Date(Number(tonight)).toISOString();
    expect(await storedLimits('raised')).toEqual({
      requests_per_minute: { limit: 40, raised: { limit: 2000, until } },
    });
    const shown = (await visitor.get(page)).text;
    expect(shown).toMatch(/0<\/strong> of 2\u202f000/);
    expect(shown).toContain(`raised until ${until.slice(0, 16).replace('T', ' ')} UTC`);
    expect((await visitor.post(page, { requests_per_minute: '50' })).status).toBe(303);
    expect(await storedLimits('raised')).toMatchObject({ requests_per_minute: { limit: 50, raised: {} } });
    await visitor.post(page, { requests_per_minute: '40' });
    await visitor.post(page, { change: 'end-raise', limit: 'requests_per_minute' });
    expect(await storedLimits('raised')).toEqual({});
  });

  it('get credit once by one form, with who has added it and why', async () => {
    await created('prepaid');
    const page = 'limits?account=prepaid';
    await visitor.get(page);
    const form = { change: 'credit', amount_usd: '$1,000.50', reason: 'Invoice 7' };
    const refused = await visitor.post(page, { ...form, amount_usd: '1,5', reason: '' });
    expect(refused.status).toBe(422);
    expect(refused.text).toContain('write dollars such as 5, 5.50');
    expect(refused.text).toContain('Say why');
    const { nonce } = visitor;
    expect((await visitor.post(page, { ...form, nonce })).location).toBe(page);
    expect((await there.submit(page, { ...form, nonce })).location).toBe(page);
    expect(await storedLimits('prepaid')).toEqual({ usd_total: '1000.5' });
    const { text } = await visitor.get(page);
    expect(text).toContain('<strong>$1\u202f000.50</strong>');
    expect(tableRows(text).filter(row => row.includes('Invoice 7'))).toEqual([
      [expect.any(String), operator.name, '$1\u202f000.50', 'Invoice 7'],
    ]);
  });

  it('hold for the models of a list, of which each person keeps what another has set', async () => {
    await created('narrowed');
    const page = 'limits?account=narrowed';
    const { text } = await visitor.get(page);
    const [, model = ''] = /id="known-models"><option value="([^"]+)"/.exec(text)!;
    const { form_token: _, ...fields } = formFields(text, 'value="models"');
    const send = (models: string) => visitor.post(page, { ...fields, models, change: 'models' });
    expect((await send('no/such')).text).toContain('id="models-fault">Models: ');
    expect((await send(`${model}, ${model.split('/')[0]}/*`)).location).toBe(page);
    expect((await accountOf('narrowed')).models).toEqual([model, `${model.split('/')[0]}/*`]);
    expect(await send(model)).toMatchObject({
      status: 409,
      text: expect.stringContaining('Changed meanwhile'),
    });
    expect((await visitor.post(page, { change: 'models', models: '' })).status).toBe(303);
    expect((await accountOf('narrowed')).models).toBeNull();
  });

  it('of a key are raised as well, and which models it may use and its tags are set beside them', async () => {
    await created('tagged');
    const { id } = await visitor.issue('tagged', { requests_per_minute: '5', 'tag.team': 'ads' });
    expect(await recordOf(id)).toMatchObject({ models: null, tags: { team: 'ads' } });
    const page = `key?id=${id}`;
    const fields = await fieldsOf(visitor, id);
    expect(fields).toMatchObject({ models: '', 'tag.team': 'ads' });
    const wrong = await visitor.post(page, { ...fields, models: 'no/such', 'tag.team': 'sales' });
    expect(wrong.text).toContain('There is no such model');
    expect(wrong.text).toContain('not one of the values');
    const until = String(Date.now() + day_ms);
    await visitor.post(page, { change: 'raise', limit: 'requests_per_minute', to: '1,000', until });
    const set = { ...fields, models: 'aion-labs/*', 'tag.team': 'search' };
    expect((await visitor.post(page, set)).status).toBe(303);
    expect(await recordOf(id)).toMatchObject({
      models: ['aion-labs/*'],
      tags: { team: 'search' },
      limits: { requests_per_minute: { limit: 5, raised: { limit: 1000 } } },
    });
  });

  it('near their end are told to the contacts at a button, once an hour, and who does so is recorded', async () => {
    await created('near');
    const page = 'limits?account=near';
    const { key } = await visitor.issue('near');
    await visitor.post(page, { requests_per_minute: '1', tokens_per_day: '100' });
    await untilStatus(0, key, 429);
    expect((await visitor.get(page)).text).toContain('No contacts are set');
    const tell = { change: 'tell', limit: 'tokens_per_day' };
    expect((await visitor.post(page, tell)).status).toBe(422);
    const wrong = await visitor.post(page, { change: 'contacts', contacts: 'ann@near.example, ann' });
    expect(wrong.text).toContain('id="contacts-fault">&#39;ann&#39; is no mail address.');
    await visitor.post(page, { change: 'contacts', contacts: 'ann@near.example' });
    expect((await visitor.get(page)).text).toContain('Tell the contacts now');
    await visitor.post(page, tell);
    expect((await visitor.get(page)).text).toContain('sent to ann@near.example within seconds');
    await visitor.post(page, tell);
    expect((await visitor.get(page)).text).toContain('less than an hour ago');
    const [notices, entries] = await place.look(store =>
      Promise.all([
        store.notices!.list({ subject: 'account:near', limit: 9 }),
        store.audit.list({ target: 'near', actions: ['account.notify'], limit: 9 }),
      ]),
    );
    expect(notices).toMatchObject([
      { type: 'limit.used', data: { limit: 'tokens_per_day', used: 90, max: 100, used_percent: 90 } },
    ]);
    expect(entries).toMatchObject([{ actor: operator.name }]);
  });
});

describe('an account that two people edit at once', () => {
  const buttons = { settings: 'Save changes', limits: 'Save overrides' };
  type Change = keyof typeof buttons;

  /** The forms of its page as both have loaded it, to be sent by either with what was typed. */
  async function loaded(id: string) {
    const pages = { settings: await created(id), limits: `limits?account=${id}` };
    const texts = { settings: await visitor.get(pages.settings), limits: await visitor.get(pages.limits) };
    await there.get(pages.settings);
    const sent = async (who: DashboardVisitor, change: Change, typed: Record<string, string>) => {
      const { form_token: _, ...fields } = formFields(texts[change].text, buttons[change]);
      return who.post(pages[change], { ...fields, ...typed });
    };
    return { pages, sent };
  }

  it('keeps what each of them has edited, also in one form', async () => {
    const { sent } = await loaded('both');
    const edits: [DashboardVisitor, Change, Record<string, string>][] = [
      [there, 'limits', { requests_per_minute: '5' }],
      [visitor, 'limits', { tokens_per_day: '900' }],
      [there, 'settings', { display_name: 'Both' }],
      // Neither typed what is there already, nor sent without an edit.
      [visitor, 'limits', { requests_per_minute: '5' }],
      [visitor, 'settings', {}],
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
    ['settings', 'plan', '', 'large', 'from “small” to nothing'],
    ['settings', 'display_name', 'Theirs', 'Mine', 'from nothing to “Theirs”'],
  ])(
    'shows what the other changed by the form for %s, and saves it when it is sent again',
    async (change, field, theirs, mine, said) => {
      const id = `conflict-${field}`;
      const { pages, sent } = await loaded(id);
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
      expect((await visitor.post(pages[change], again)).status).toBe(303);
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
    await visitor.post('limits?account=history', { requests_per_minute: '5' });
    await visitor.post('limits?account=history', { requests_per_minute: '6', tokens_per_day: 'none' });
    await visitor.post(page, { plan: '' });
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
    const shown = (await visitor.get('history?account=history')).text;
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
    expect((await visitor.get('history?account=switched')).text).toContain('disabled the account');
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
      [['create', 'TESTER'], 'in the configuration already'],
    ] as const)
      expect((await command('accounts', ...args)).stderr).toContain(said);
  });
});

describe('the display name of an account', () => {
  it('is put below another, which is there and not below it, and shows limits that are shared', async () => {
    await created('above');
    const page = await created('beneath');
    expect((await visitor.post(page, { parent: 'above' })).status).toBe(303);
    const { text } = await visitor.get(page);
    expect(text).toContain('<dt>Parent</dt><dd><a href="account?id=above">above</a></dd>');
    expect(text).toContain('<span class="muted">shared</span>');
    for (const [at, parent, fault] of [
      [page, 'nobody', 'There is no account &#39;nobody&#39;.'],
      ['account?id=above', 'beneath', 'would be above itself'],
    ] as const)
      expect((await visitor.post(at, { parent })).text).toContain(fault);
    expect((await accountOf('above')).parent).toBeNull();
    await visitor.post(page, { parent: '' });
    expect((await accountOf('beneath')).parent).toBeNull();
  });

  it('is shown beside its id, found by the search, and refused with control characters', async () => {
    const page = await created('named', { display_name: 'Olga’s <Lab>' });
    expect((await visitor.get(page)).text).toContain('<h1>named · Olga’s &lt;Lab&gt;</h1>');
    expect((await visitor.get('accounts?search=olga')).text).toContain(
      '<span class="muted">Olga’s &lt;Lab&gt;</span>',
    );
    for (const display_name of ['a\u0007b', 'x'.repeat(101)]) {
      const { status, text } = await visitor.post(page, { display_name });
      expect([status, text]).toEqual([422, expect.stringContaining('id="display-name-fault"')]);
    }
    expect((await visitor.post(page, { display_name: '' })).status).toBe(303);
    expect((await visitor.get(page)).text).toContain('<h1>named</h1>');
  });
});

describe('the spend of an account', () => {
  it('is shown for 30 days by day, and this month against its limit', async () => {
    const page = await created('spender');
    expect((await visitor.get(page)).text).toContain('No requests in the last 30 days.');
    const row = { account: 'spender', started_ms: Date.now(), cost_usd: '5' };
    const daysAgo = (days: number) =>
      sampleRow({ ...row, started_ms: row.started_ms - days * 86_400_000, cost_usd: '0' });
    const rows = [sampleRow(row), sampleRow({ ...row, model: 'v/two' }), daysAgo(29), daysAgo(30)];
    await place.look(store => store.ledger.insert(rows));
    const { text } = await visitor.get(page);
    expect(text).toContain('<dt>Requests</dt><dd><strong>3</strong>');
    expect(text).toMatch(/\$10\.00<\/data><\/strong> <span class="muted">of \$50\.00, 20\u00a0%/);
    const today = new Date().toISOString().slice(0, 10);
    for (const part of [
      'aria-label="Cost by day"',
      'href="requests?account=spender"',
      'href="usage?account=spender&amp;time=30d"',
    ])
      expect(text).toContain(part);
    expect(text.replaceAll(/\s*<[^>]*>\s*/g, ' ').replaceAll(/ +/g, ' ')).toContain(
      `${today} $5.00 $5.00 $10.00`,
    );
  });
});

describe('the list of accounts', () => {
  const rowsOf = async (query: string) =>
    tableRows((await visitor.get(`accounts?search=listed&${query}`)).text);

  it('has cost, share of the nearest limit, last use and keys of each, by which it is sorted', async () => {
    for (const id of ['listed-top', 'listed-team', 'listed-idle']) await created(id);
    await visitor.submit('account?id=listed-team', { parent: 'listed-top' });
    await visitor.issue('listed-team');
    const now_ms = Date.now();
    const row = { account: 'listed-team', started_ms: now_ms, cost_usd: '30' };
    await place.look(store =>
      store.ledger.insert([sampleRow(row), sampleRow({ ...row, account: 'listed-top', cost_usd: '15.5' })]),
    );
    const minute = new Date(now_ms).toISOString().slice(0, 16).replace('T', ' ');
    const cells = (await rowsOf('')).map(([account, ...others]) => [account, ...others.slice(0, 5)]);
    expect(cells).toEqual([
      ['listed-idle', '$0.00', '0\u00a0% dollars per month', 'never', '0', 'enabled'],
      ['listed-team', '$30.00', '60\u00a0% dollars per month', minute, '1', 'enabled'],
      // What is below it counts under its limit as well.
      ['listed-top', '$15.50', '91\u00a0% dollars per month', minute, '0', 'enabled'],
    ]);
    const sorted = async (query: string) => (await rowsOf(query)).map(([account]) => account!.slice(7));
    expect(await sorted('sort=cost')).toEqual(['team', 'top', 'idle']);
    expect(await sorted('sort=share')).toEqual(['top', 'team', 'idle']);
    expect(await sorted('sort=used&order=asc')).toEqual(expect.arrayContaining(['idle']));
    expect(await sorted('sort=keys')).toEqual(['team', 'idle', 'top']);
  });

  it('folds the form that creates one, and opens it with what was typed and its fault at the field', async () => {
    expect((await visitor.get('accounts')).text).toContain('id="create" >');
    const { status, text } = await visitor.post('accounts', { id: 'no name', display_name: 'Kept' });
    expect([status, text]).toEqual([422, expect.stringContaining('id="create" open>')]);
    expect(text).toMatch(/name="id" value="no name"[^>]+aria-invalid="true" aria-describedby="id-fault"/);
    expect(text).toContain('name="display_name" value="Kept"');
  });
});

describe('the form that issues a key', () => {
  it('issues one key when it is sent twice at once, and shows it once for each time it was sent', async () => {
    const account = await newAccount('double-click');
    await visitor.get(`keys?account=${account}`);
    const send = () => visitor.post(`keys?account=${account}`, { name: 'twice' });
    const sent = await Promise.all([send(), send()]);
    expect(await keysIn(account)).toBe(1);
    const shown = await Promise.all(sent.map(({ location }) => visitor.secretAt(location)));
    expect(shown).toEqual([expect.stringMatching(/^sk-sluice-[\w-]{49}$/), shown[0]]);
    for (const { location } of sent)
      expect((await visitor.get(location!)).text).toContain('A key is shown once');
  });

  it('issues a key for each tab and shows both, in whatever order', async () => {
    const account = await newAccount('two-tabs');
    const nonces: string[] = [];
    for (const _ of ['one', 'two']) {
      await visitor.get(`keys?account=${account}`);
      nonces.push(visitor.nonce);
    }
    const locations: (string | undefined)[] = [];
    for (const nonce of nonces)
      locations.push((await visitor.post(`keys?account=${account}`, { nonce })).location);
    const shown: string[] = [];
    for (const location of locations.toReversed()) shown.push(await visitor.secretAt(location));
    expect(shown).toEqual([expect.stringMatching(/^sk-/), expect.stringMatching(/^sk-/)]);
    expect(shown[0]).not.toBe(shown[1]);
    expect(await keysIn(account)).toBe(2);
  });

  it('issues nothing when it is sent again with other content, and is shown again for another key', async () => {
    const account = await newAccount('changed-form');
    await visitor.get(`keys?account=${account}`);
    const path = `keys?account=${account}`;
    await visitor.post(path, { name: 'one' });
    const changed = await visitor.post(path, { name: 'two' });
    expect([changed.status, changed.text, await keysIn(account)]).toEqual([
      422,
      expect.stringContaining('has issued a key already'),
      1,
    ]);
    expect((await visitor.post(path, { name: 'two' })).status).toBe(303);
    expect(await keysIn(account)).toBe(2);
  });

  it('issues nothing without a nonce, and shows no secret for a link of another key or session', async () => {
    const account = await newAccount('no-nonce');
    await visitor.get(`keys?account=${account}`);
    for (const nonce of ['', 'x', 'A'.repeat(23)])
      expect((await visitor.post(`keys?account=${account}`, { nonce })).status).toBe(400);
    expect(await keysIn(account)).toBe(0);
    await visitor.get(`keys?account=${account}`);
    const { location } = await visitor.post(`keys?account=${account}`, { name: 'private' });
    expect(secretIn(await (await operatorAt(gateways[0]!)).get(location!))).toBeUndefined();
    expect(await visitor.secretAt(location!.replace(/&show=.*/, ''))).toBe('');
    expect(await visitor.secretAt(location)).toMatch(/^sk-/);
  });

  it('issues one key when it is sent to two instances, as a rotation is made once', async () => {
    await visitor.get('keys?account=tester');
    const { token, nonce } = visitor;
    const other = visitor.movedTo(there.base);
    const before = await place.look(({ keys }) => keys.count());
    const both = (page: string, fields: Record<string, string>) =>
      Promise.all([visitor, other].map(each => each.post(page, fields)));
    const sent = await both('keys?account=tester', { form_token: token, nonce, name: 'two instances' });
    const [one, two] = sent.map(({ location }) => idIn(location));
    expect([...sent.map(({ status }) => status), one]).toEqual([303, 303, two]);
    await visitor.get(`key?id=${one}`);
    const form = { change: 'rotate', form_token: visitor.token, nonce: visitor.nonce, overlap: 'week' };
    const rotated = await both(`key?id=${one}`, form);
    expect(rotated.map(({ status }) => status)).toEqual([303, 303]);
    expect(await place.look(({ keys }) => keys.count())).toBe(before + 2);
  });
});

describe('the form that rotates a key', () => {
  it('issues one key by the same name however often it is sent, and ends the old one later', async () => {
    const account = await newAccount('rotating');
    const { id } = await visitor.issue(account, { name: 'batch jobs' });
    expect((await visitor.get(`key?id=${id}&do=rotate`)).text).toContain('id="rotate" open');
    const send = () => visitor.post(`key?id=${id}`, { change: 'rotate', overlap: 'week' });
    const sent = await Promise.all([send(), send()]);
    const page = await visitor.get(sent[0]!.location!);
    expect(secretIn(page)).toMatch(/^sk-/);
    expect(page.text).toContain(`The key ${id} ends in 7 days`);
    expect(await visitor.secretAt(sent[1]!.location)).toBe(secretIn(page));
    expect(await keysIn(account)).toBe(2);
    const [newest] = (await visitor.get('audit')).text.split('<tr>').slice(2);
    for (const part of ['rotated the key', 'the old key ends: 20', idIn(sent[0]!.location)])
      expect(newest).toContain(part);
  });

  it('is refused for a key that has ended, and for an overlap that it does not offer', async () => {
    const account = await newAccount('rotated-once');
    const { id } = await visitor.issue(account);
    const rotate = async (overlap: string) => {
      // For a new nonce: a key that has ended has no form.
      await visitor.get(`keys?account=${account}`);
      return (await visitor.post(`key?id=${id}`, { change: 'rotate', overlap })).status;
    };
    expect([await rotate('year'), await rotate('now'), await rotate('day')]).toEqual([422, 303, 409]);
    expect((await visitor.get(`keys?all=yes&account=${account}`)).text).toContain('>expired<');
    expect(await keysIn(account)).toBe(2);
  });
});

describe('the page of a key', () => {
  it('shows limits as bars, use, and what was issued with an exact expiry and limits', async () => {
    const { id, key } = await issue({
      name: 'exact',
      expires: 'at',
      expires_at: '2099-01-31T18:00',
      requests_per_minute: '2',
      usd_per_month: '0.50',
    });
    expect(await recordOf(id)).toMatchObject({
      name: 'exact',
      expires_ms: Date.parse('2099-01-31T18:00Z'),
      limits: { requests_per_minute: 2, usd_per_month: '0.50' },
    });
    expect([await statusAt(0, key), await statusAt(0, key), await statusAt(0, key)]).toEqual([200, 200, 429]);
    await until(async () => (await visitor.get(`key?id=${id}`)).text.includes('1 refused'));
    const { text } = await visitor.get(`key?id=${id}`);
    for (const part of [
      '<strong>2</strong> of 2',
      'of $0.50',
      '2099-01-31</span> 18:00',
      '<strong>180</strong>',
      'issued the key',
      `href="requests?key=${id}"`,
    ])
      expect(text).toContain(part);
    expect((await visitor.get('keys')).text).toContain(`href="key?id=${id}"`);
  });

  it('changes name, expiry and limits, and records what was there before', async () => {
    const { id } = await issue({ name: 'first name', requests_per_minute: '5' });
    const fields = await fieldsOf(visitor, id);
    const set = { name: 'second name', expires: 'week', requests_per_minute: '', tokens_per_day: '900' };
    const sent = await visitor.post(`key?id=${id}`, { ...fields, ...set });
    expect(sent).toMatchObject({ status: 303, location: `key?id=${id}` });
    const changed = await recordOf(id);
    expect(changed).toMatchObject({ name: 'second name', limits: { tokens_per_day: 900 } });
    expect(changed.expires_ms! - Date.now()).toBeGreaterThan(6 * day_ms);
    const { text } = await visitor.get(`key?id=${id}`);
    for (const line of [
      'The key is changed',
      'name: first name → second name',
      'expires: never → ',
      'Requests per minute: 5 → not limited',
      'Tokens per day: not limited → 900',
    ])
      expect(text).toContain(line);
    // What was not touched stays, to the millisecond.
    await visitor.post(`key?id=${id}`, { ...(await fieldsOf(visitor, id)), name: 'third name' });
    expect(await recordOf(id)).toEqual({ ...changed, name: 'third name' });
  });

  it('keeps what another person has edited meanwhile, and shows both', async () => {
    const { id } = await issue({ name: 'shared', requests_per_minute: '5' });
    const page = `key?id=${id}`;
    const fields = await fieldsOf(visitor, id);
    const otto = await operatorAt(gateways[0]!, 'otto');
    await otto.submit(page, { ...fields, name: 'named', expires: 'week', requests_per_minute: '6' });
    const theirs = await recordOf(id);
    const edits = { expires: 'month', requests_per_minute: '7', tokens_per_day: '9' };
    const conflict = await visitor.post(page, { ...fields, ...edits });
    const ends = new Date(theirs.expires_ms!).toISOString();
    expect(conflict.status).toBe(409);
    for (const change of ['“5” to “6”', `“never” to “${ends}”`])
      expect(conflict.text).toContain(`Changed meanwhile from ${change}.`);
    expect(await recordOf(id)).toEqual(theirs);
    const again = formFields(conflict.text, 'Save changes');
    expect(again).toMatchObject({ name: 'named', expires: 'month', requests_per_minute: '7' });
    expect((await visitor.post(page, { ...again, expires: 'keep' })).status).toBe(303);
    const limits = { requests_per_minute: 7, tokens_per_day: 9 };
    expect(await recordOf(id)).toMatchObject({ name: 'named', expires_ms: theirs.expires_ms, limits });
  });

  it.each<[Record<string, string>, RegExp]>([
    [{ requests_per_minute: '-1' }, /^“-1” cannot be read/],
    [{ requests_per_minute: 'many' }, /^“many” cannot be read/],
    [{ expires: 'at', expires_at: '2001-01-01T00:00' }, /^This time has passed already\.$/],
    [{ expires: 'at', expires_at: '2099-02-31T00:00' }, /^Enter a day/],
    [{ expires: 'someday' }, /^“someday” is not a lifetime/],
    [{ name: 'x'.repeat(201) }, /^A name has 200/],
  ])('says what is wrong with which field, and keeps what was typed: %j', async (typed, said) => {
    const { id } = await issue({ name: 'typed' });
    const { status, text } = await visitor.post(`key?id=${id}`, {
      ...(await fieldsOf(visitor, id)),
      ...typed,
    });
    const faults = [...text.matchAll(/<span class="fault"[^>]*>([^<]+)/g)].map(([, fault]) => fault);
    expect([status, faults]).toEqual([422, [expect.stringMatching(said)]]);
    if (typed.requests_per_minute) expect(text).toContain(`value="${typed.requests_per_minute}"`);
    expect(await recordOf(id)).toMatchObject({ name: 'typed', expires_ms: null, limits: {} });
  });

  it('offers no form for a key that has ended, and refuses one that is sent all the same', async () => {
    const { id } = await issue({ name: 'ended' });
    const fields = await fieldsOf(visitor, id);
    await visitor.post(`key?id=${id}`, { change: 'revoke' });
    expect((await visitor.post(`key?id=${id}`, fields)).status).toBe(409);
    const { text } = await visitor.get(`key?id=${id}`);
    expect([text.includes('Save changes'), text.includes('revoked</span>')]).toEqual([false, true]);
    expect((await visitor.get('key?id=key_none')).status).toBe(404);
  });
});

describe('a list of keys', () => {
  it('shows the requests and the cost of each key', async () => {
    const account = await newAccount('spending');
    await visitor.issue(account, { name: 'unused' });
    const { key } = await visitor.issue(account, { name: 'used' });
    for (const _ of [1, 2]) expect(await statusAt(0, key)).toBe(200);
    const rowsOf = async (page: string) =>
      (await visitor.get(page)).text
        .split('<tr>')
        .filter(text => text.includes('key_'))
        .map(row => [...row.matchAll(/class="number">(.*?)<\/td>/g)].map(([, cell]) => cell!));
    await until(async () => (await rowsOf(`keys?account=${account}`))[0]?.[0] === '2');
    expect(await rowsOf(`keys?account=${account}`)).toEqual([
      ['2', expect.stringMatching(/<data value="0\.0*[1-9]\d*"/)],
      ['0', expect.stringContaining('<data value="0"')],
    ]);
  });

  it('revokes the chosen keys, all or none', async () => {
    const account = await newAccount('revoking');
    const ids: string[] = [];
    for (const name of ['first', 'second', 'kept']) ids.push((await visitor.issue(account, { name })).id);
    const [first, second, kept] = ids;
    const page = `keys?account=${account}`;
    const revoke = (chosen: readonly string[]) => visitor.post(page, { change: 'revoke', id: chosen });
    const many = Array.from({ length: 51 }, (_, at) => `${at}`);
    for (const [chosen, status] of [
      [[], 422],
      [[first!, 'key_none'], 404],
      [many, 422],
    ] as const)
      expect([chosen, (await revoke(chosen)).status]).toEqual([chosen, status]);
    expect((await revoke([first!, second!])).location).toBe(page);
    const left = await visitor.get(page);
    expect(left.text).toContain('2 keys are revoked');
    expect([...left.text.matchAll(/name="id" value="(\w+)"/g)].map(([, id]) => id)).toEqual([kept]);
    for (const id of [first, second]) {
      const log = (await visitor.get(`audit?target=${id}`)).text;
      expect(log.split('revoked the key')).toHaveLength(2);
    }
  });

  it('is sorted by name, and is paged forwards and back', async () => {
    const account = await newAccount('many-keys');
    await place.look(async ({ keys }) => {
      for (let at = 0; at < 51; at++)
        await keys.create(
          { account, name: `n${String(at).padStart(2, '0')}`, expires_ms: null },
          { actor: 'test', at_ms: Date.now() },
        );
    });
    const page = async (query: string) => {
      const { text } = await visitor.get(query);
      const names = [...text.matchAll(/\bn\d\d\b/g)].map(([name]) => name);
      return { names, next: linkIn(text, 'next'), previous: linkIn(text, 'prev') };
    };
    const first = await page(`keys?account=${account}&sort=name`);
    expect([first.names[0], first.previous]).toEqual(['n00', undefined]);
    const last = await page(first.next!);
    expect([new Set(last.names), last.next]).toEqual([new Set(['n50']), undefined]);
    expect(await page(last.previous!)).toEqual(first);
  });
});

describe('a secret that is pasted into a search', () => {
  const found = (page: string, field: string, text: string) => {
    // A form that searches has none.
    visitor.nonce = '';
    return visitor.post('find', { page, [field]: text, sort: 'newest' });
  };
  const secret = 'xk3Jq9Z_pW7tRv2LmB8sYd4H';
  let key: string;
  let id: string;
  beforeAll(async () => {
    ({ key, id } = await issue({ name: 'whole' }));
  });

  it.each([
    ['keys', 'search'],
    ['keys', 'account'],
    ['accounts', 'search'],
    ['requests', 'account'],
    ['request', 'id'],
    ['usage', 'model'],
    ['audit', 'target'],
    ['anything', 'find'],
  ])('leads from the page %s by its %s to whose it is, and stands in no address', async (page, field) => {
    const text = field === 'id' ? `Bearer ${key}` : ` ${key}`;
    expect((await found(page, field, text)).location).toBe(`key?id=${id}&do=revoke`);
    expect((await found(page, field, clientKey)).location).toBe('account?id=tester');
    const unknown = await found(page, field, secret);
    expect([unknown.status, unknown.location]).toEqual([404, undefined]);
    expect(unknown.text).toContain('looks like a key or another secret');
    expect(unknown.text).not.toContain(secret);
  });

  it('is taken out of an address, by whoever it was typed, and kept from who is not signed in', async () => {
    const signedOut = new DashboardVisitor(visitor.base);
    for (const who of [visitor, signedOut])
      expect((await who.get(`keys?all=yes&search=${key}`)).location).toBe('keys?all=yes');
    await signedOut.get('sign-in');
    const asked = await signedOut.post('find', { page: 'keys', search: secret });
    expect([asked.status, asked.text.includes(secret)]).toEqual([401, false]);
  });

  it('is found beside ids in the field of every page, which lead to what they name', async () => {
    expect((await visitor.get('audit')).text).toMatch(
      /name="page" value="anything">\s*<input type="search" name="find"/,
    );
    for (const [text, place] of [
      [id, `key?id=${id}`],
      ['tester', 'account?id=tester'],
      ['test', 'accounts?search=test'],
    ] as const)
      expect((await found('anything', 'find', text)).location).toBe(place);
  });

  it('is told from names, which are searched for as before, however random they look', async () => {
    const random = await newAccount('user_2NNEqL2nrIRdJ194ndJqAHwEfxC');
    for (const [page, field, text] of [
      ['keys', 'search', 'a name & more'],
      ['accounts', 'search', random.slice(4)],
      ['requests', 'account', random],
      ['requests', 'model', 'anthropic/claude-3-5-sonnet-20241022'],
      ['request', 'id', '0192f0a4-7d5e-7c3a-9b1e-2f6a8c4d0e11'],
    ] as const)
      expect((await found(page, field, text)).location).toBe(
        `${page}?${new URLSearchParams({ [field]: text, sort: 'newest' })}`,
      );
    expect((await found('keys', 'search', '')).location).toBe('keys?sort=newest');
    expect((await found('https://example.org', 'search', 'x')).status).toBe(400);
  });

  it.each(['', 'accounts', 'keys', 'requests', 'usage', 'audit'])(
    'cannot be sent by a form of the page "%s" that writes its texts into the address',
    async page => {
      const { text } = await visitor.get(page);
      const forms = text.match(/<form method="get"[\s\S]*?<\/form>/g) ?? [];
      expect(forms.filter(form => /<input(?! type="checkbox")/.test(form))).toEqual([]);
    },
  );
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
    ['accounts', { id: 'ACME' }, 422, 'There is an account &#39;acme&#39; already.'],
    ['accounts', { id: 'Tester' }, 422, 'There is an account &#39;tester&#39; in the configuration already.'],
    ['accounts', { id: 'new', plan: 'huge' }, 422, 'There is no plan &#39;huge&#39;; there are: '],
    ['accounts', { id: ' ' }, 422, 'cannot be an account&#39;s name: letters, digits and _ . @ : + -'],
    ['account?id=tester', { plan: 'small' }, 422, 'This account is changed in the configuration file.'],
    ['account?id=tester', { change: 'disable' }, 422, 'changed in the configuration file'],
    ['account?id=acme', { plan: 'huge' }, 422, 'There is no plan &#39;huge&#39;; there are: '],
    ['account?id=acme', { change: 'nothing' }, 400, ''],
    ['keys?account=nobody', { name: 'x' }, 404, 'There is no account “nobody”.'],
    ['keys?account=acme', { expires: 'later' }, 422, '“later” is not a lifetime of keys.'],
    ['keys?account=acme', { name: 'x'.repeat(201) }, 422, 'A name has 200 characters at most'],
    ['keys?account=acme', { name: 'a\0b' }, 422, 'none of them control characters.'],
    ['key?id=key_none', { change: 'revoke' }, 404, 'There is no such key.'],
  ])('reject an invalid change with a readable message: %s %j', async (page, fields, status, said) => {
    await visitor.get('accounts');
    const reply = await visitor.post(page, fields);
    const told = /role="alert">([^<]+)</.exec(reply.text)?.[1] ?? /<h1>([^<]+)</.exec(reply.text)?.[1];
    expect([reply.status, told]).toEqual([status, expect.stringContaining(said)]);
  });

  it('share sessions, and the key that a sealed cookie shows once, until signing out at either', async () => {
    const here = await operatorAt(gateways[0]!);
    expect((await here.movedTo(there.base).get('keys')).text).toContain(operator.name);
    await here.get('keys?account=tester');
    const { location } = await here.post('keys?account=tester', { name: 'seen there', expires: 'month' });
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
    const late = await visitor.post('accounts', { id: 'late', nonce: 'n'.repeat(22) });
    expect(late).toMatchObject({ status: 503, text: expect.stringContaining('Nothing has been changed.') });
    // To be sent again, as the same form.
    expect(formFields(late.text, 'Send it')).toMatchObject({ id: 'late', nonce: 'n'.repeat(22) });
    // The session would go on when the store is back, and at the other instance.
    const still = await visitor.post('sign-out', {});
    expect(still).toMatchObject({ status: 503, text: expect.stringContaining('Nothing has been changed.') });
  });
});
