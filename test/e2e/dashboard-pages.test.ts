import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { pages } from '../../plugins/dashboard/pages/index.ts';
import { defaultModels } from '../../src/config/example-models.ts';
import { operatorRoles } from '../../src/plugin.ts';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import {
  DashboardVisitor,
  dashboardAdmin,
  formFields,
  linkIn,
  operator,
  operatorAt,
  password_hash,
  tableRows,
  unescaped,
  whoIn,
} from '../support/dashboard-visitor.ts';
import { FakeClock } from '../support/fake-clock.ts';
import {
  ask,
  clientKey,
  type GatewayUnderTest,
  startGateway,
  upstreamKey,
} from '../support/gateway-under-test.ts';
import { liveEvents } from '../support/live-events.ts';
import { type RecordsPlace, recordsPlace, runCommand } from '../support/records-place.ts';
import { patience_ms, until } from '../support/until.ts';
import { halfAYear } from '../support/usage-rows.ts';

/** What the dashboard counts: requests, the overview, models, and usage; and what of all pages each role may see and do. */

type Role = (typeof operatorRoles)[number];
const paid_prices = { prompt: '0.000001', completion: '0.000002' };
const people: Readonly<Record<Role, string>> = { admin: 'olga', operator: 'otto', viewer: 'vera' };
const [model, alone_model] = ['aion-labs/aion-3.5', 'aion-labs/aion-3.0'];
const modelLink = `model?id=${encodeURIComponent(model)}`;
const unused = 'http://127.0.0.1:9/v1';
let simulator: Simulator;
let place: RecordsPlace;
let gateway: GatewayUnderTest;
/** Who has signed in, by role; `visitor` is the admin, who sees everything. */
const visitors = new Map<Role, DashboardVisitor>();
const as = (role: Role): DashboardVisitor => visitors.get(role)!;
let visitor: DashboardVisitor;
/** Of acme, with limits in US dollars; used for every second exchange of half a year. */
let key: string;

const send = async (id: string, more: object = {}, key = clientKey): Promise<void> => {
  const headers = { 'x-request-id': id, authorization: `Bearer ${key}` };
  await (await gateway.post(ask('Hello?', more), { headers })).text();
};

/** A request that a second provider answers after the first has failed, sixty others, one that fails and one that is limited. */
beforeAll(async () => {
  [simulator, place] = await Promise.all([startSimulator({ api_key: null }), recordsPlace()]);
  key = await place.look(async ({ accounts, keys, customers }) => {
    const who = { actor: 'cli:anna', at_ms: Date.now() };
    await accounts.create({ id: 'acme', plan: 'paid', limits: { usd_per_month: 4321 } }, who);
    await accounts.change('acme', { limits: { usd_per_month: 5432 } }, who);
    const limits = { usd_per_month: 6543, requests_per_minute: 7 };
    const { record } = await keys.create({ account: 'acme', name: 'nightly', expires_ms: null, limits }, who);
    await keys.change(record.id, { limits: { ...limits, usd_per_month: 7654 } }, who);
    const invited = { name: 'carla', account: 'acme', digest: 'x', until_ms: Date.now() + 3_600_000 };
    await customers.invite(invited, who);
    return record.id;
  });
  gateway = await startGateway({
    upstream: simulator.url,
    config: {
      admin: dashboardAdmin({
        users: Object.fromEntries(operatorRoles.map(role => [people[role], { password_hash, role }])),
      }),
      // Nobody listens there.
      notices: { webhooks: { ops: { url: 'http://127.0.0.1:9/', secrets: [`whsec_${'a'.repeat(32)}`] } } },
      portal: { enabled: true },
      stores: place.stores,
      plans: {
        one: { requests_per_minute: 1 },
        paid: { usd_per_month: 8765, requests_per_minute: 1000 },
      },
      accounts: {
        tester: { plan: 'paid', keys: [{ value: clientKey }] },
        throttled: { plan: 'one', keys: [{ value: 'sk-throttled' }] },
      },
      providers: {
        upstream: { adapter: 'vllm', base_url: simulator.url },
        broken: { adapter: 'openai', base_url: unused },
      },
      models: [
        {
          ...defaultModels('upstream')[0]!,
          upstreams: [
            { provider: 'broken', model: 'away' },
            { provider: 'upstream', model: 'aion-3.5', priority: 2, paid_prices },
          ],
        },
        { ...defaultModels('broken').find(({ id }) => id === alone_model)! },
      ],
    } as never,
  });
  for (const role of operatorRoles) visitors.set(role, await operatorAt(gateway, people[role]));
  visitor = as('admin');
  await send('covered', { stream: true });
  for (let at = 0; at < 60; at++) await send(`of-many-${at}`);
  await send('failed', { model: alone_model });
  for (let at = 0; at < 2; at++) await send('throttled', {}, 'sk-throttled');
  await send('last');
  await until(async () => (await visitor.get('request?id=last')).status === 200);
  await until(async () => (await visitor.get('request?id=throttled')).text.includes('2 requests came'));
}, 60_000);
afterAll(async () => {
  await gateway?.close();
  await Promise.all([simulator?.close(), place?.remove()]);
});

const textOf = async (page: string, of = visitor): Promise<string> => (await of.get(page)).text;

describe('the page of one request', () => {
  it('shows how it ended, what it used and every attempt', async () => {
    const text = await textOf('request?id=covered');
    const [failed, answered] = tableRows(text);
    expect(failed).toEqual([
      'broken',
      'away',
      expect.stringMatching(/ s$/),
      '0.000 s',
      'none',
      '–',
      expect.stringMatching(/ s$/),
      'failed unreachable',
      expect.stringMatching(/^connect ECONNREFUSED (?!127)/),
    ]);
    expect(answered!.slice(0, 2)).toEqual(['upstream', 'aion-3.5']);
    expect([answered![4], answered![7]]).toEqual(['200', 'completed']);
    expect(answered![5]).toMatch(/^\d+\.\d+ s$/);
    expect(text).toContain(`<dt>Model</dt><dd>${model}</dd>`);
    expect(text).toContain('chat.completions, streamed');
    expect(text).toMatch(/<dt>Cost<\/dt><dd>.*\$/);
  });

  it('answers 404 with advice for an id that no request has, and shows it as text', async () => {
    const asked = new URLSearchParams({ id: '<script>x</script>' });
    const { status, text } = await visitor.get(`request?${asked}`);
    expect(status).toBe(404);
    expect(text).toContain('The ledger has no request with this id.');
    expect(text).toContain('&lt;script&gt;x&lt;/script&gt;');
    expect(text).not.toContain('<script>x');
  });

  it('has a timeline of stages and attempts with the figures that its bars show', async () => {
    const text = await textOf('request?id=covered');
    const [long = '', brief = ''] = ['Timeline', 'Stages below a millisecond'].map(
      label => new RegExp(`aria-label="${label}".*?</table>`, 's').exec(text)?.[0],
    );
    for (const table of [long, brief]) {
      const spans = tableRows(table);
      const begins = spans.map(([, begin = '']) => Number.parseFloat(begin.replaceAll('\u202f', '')));
      expect(begins).toEqual(begins.toSorted((a, b) => a - b));
      for (const [, , took] of spans) expect(took).toMatch(/^[\d.\u202f]+\u00a0ms$/);
      expect(table.match(/<svg class="span" aria-hidden="true"/g)).toHaveLength(spans.length);
    }
    const names = tableRows(long).map(([name]) => name);
    expect(names).toEqual(expect.arrayContaining(['Attempt 1 broken', 'Attempt 2 upstream']));
    expect([...names, ...tableRows(brief).map(([name]) => name)]).toContain('auth onHeaders');
    for (const [, , took] of tableRows(brief)) expect(Number.parseFloat(took!)).toBeLessThanOrEqual(1);
  });

  it('says which limit refused it, and what its client was told of which field', async () => {
    const throttled = await textOf('request?id=throttled');
    for (const part of [
      'rate-limit',
      '<code>rate_limited</code>',
      '<dt>Refused by</dt><dd>the limit <code>requests_per_minute</code></dd>',
      'It ended before a provider was called.',
    ])
      expect(throttled).toContain(part);
  });

  it('shows what providers said to admins alone', async () => {
    const seen = await textOf('request?id=failed', as('viewer'));
    expect(seen).toContain('failed</span> unreachable');
    expect(seen).not.toContain('ECONNREFUSED');
    expect(await textOf('request?id=failed')).toContain('ECONNREFUSED');
  });
});

describe('the list of requests', () => {
  it('has the newest first, a page at a time, and is read back to the newest', async () => {
    const idsIn = (text: string) => [...text.matchAll(/href="request\?id=([^"]*)"/g)].map(([, id]) => id);
    const first = await textOf('requests?since=all');
    expect([tableRows(first).length, idsIn(first)[0], linkIn(first, 'prev')]).toEqual([
      50,
      'last',
      undefined,
    ]);
    const second = await textOf(linkIn(first, 'next')!);
    expect([tableRows(second).length, idsIn(second).at(-1), linkIn(second, 'next')]).toEqual([
      15,
      'covered',
      undefined,
    ]);
    // Fifty are newer than the second page, which is the first page.
    const back = await textOf(linkIn(second, 'prev')!);
    expect(tableRows(back)).toEqual(tableRows(first));
    expect(linkIn(back, 'prev')).toBeUndefined();
    // More are newer than the oldest: the nearest fifty of them are shown.
    const oldest_ms = Date.parse(/.*<time datetime="([^"]*)"/s.exec(second)![1]!);
    const near = await textOf(`requests?since=all&before=${oldest_ms}_zzz`);
    expect(idsIn(near)).toEqual([...idsIn(first), ...idsIn(second)].slice(-51, -1));
    expect([linkIn(near, 'prev'), linkIn(near, 'next')]).toEqual([expect.any(String), expect.any(String)]);
  });

  it.each([
    ['end=failed', 2],
    ['end=refused', 1],
    ['end=upstream_failed', 1],
    ['end=completed&provider=upstream&since=all', 50],
    ['end=client_gone', 0],
    ['provider=broken', 1],
    ['model=aion-labs%2Faion-3.5&since=hour', 50],
    ['model=no%2Fsuch', 0],
    ['account=tester', 50],
    ['account=nobody', 0],
    ['key=key_none', 0],
    ['end=nonsense&since=nonsense&until=nonsense', 50],
    ['error_type=rate_limit_error', 1],
    ['error_type=none_such', 0],
    ['code=rate_limited', 1],
    ['failed_at=upstream', 0],
    ['failed_at=broken&provider=broken', 1],
    ['provider=(none)', 1],
    ['model=(none)', 1],
    ['since=2001-01-01T00:00Z&until=2001-01-02T00:00Z', 0],
    ['since=2001-01-01T00:00Z&end=failed', 2],
    // A broken link is one to some page.
    ['after=x', 50],
    ['after=1_', 50],
    ["after=1_'%20OR%201=1", 0],
    ['before=x', 50],
    ["before=1_'%20OR%201=1", 50],
  ])('is filtered by the address: %s', async (query, expected) => {
    const { status, text } = await visitor.get(`requests?${query}`);
    expect([status, tableRows(text).length]).toEqual([200, expected]);
    if (expected === 0) expect(text).toMatch(/No request (matches )?in /);
  });

  it('keeps its filters from page to page, and any time in its form', async () => {
    const hour = await textOf('requests?provider=upstream&since=hour');
    expect(hour).toMatch(/href="requests\?provider=upstream&amp;since=hour&amp;after=[^"]*" rel="next"/);
    expect(hour).toMatch(/<a href="requests\?provider=upstream&amp;since=hour" aria-current="true">1 hour</);
    expect(hour).toContain('<input type="hidden" name="since" value="hour">');
    const text = await textOf('requests?since=2001-01-01T00:00Z&until=2001-01-02T00:00Z&account=tester');
    for (const part of [
      'No request matches in 2001-01-01 00:00 to 2001-01-02 00:00.',
      '<input type="datetime-local" name="since" value="2001-01-01T00:00">',
      '<input type="datetime-local" name="until" value="2001-01-02T00:00">',
    ])
      expect(text).toContain(part);
  });

  it('has what the client of a refused request was told, as has its page with the field', async () => {
    await send('refused', { temperature: 9 });
    await until(async () => (await visitor.get('request?id=refused')).status === 200);
    const text = await textOf('request?id=refused');
    const [, message = ''] = /<dt>Reason<\/dt><dd>(temperature: [^<]*) <span/.exec(text)!;
    expect(text).toContain('<code>temperature</code>');
    expect(await textOf('requests')).toContain(`title="invalid_request_error: ${message}">${message}</span>`);
  });

  it('is sorted by what took longest or cost most of all pages, and found by a part of an id', async () => {
    const [longest] = tableRows(await textOf('requests?sort=duration&since=all&columns=duration'));
    const durations = tableRows(await textOf('requests?since=all&columns=duration')).map(([took]) => took);
    for (const took of durations)
      expect(Number.parseFloat(took!)).toBeLessThanOrEqual(Number.parseFloat(longest![0]!));
    expect((await visitor.get('request?id=of-many')).location).toBe('requests?request=of-many&since=all');
    expect(tableRows(await textOf('requests?request=MANY-5&since=all'))).toHaveLength(11);
    expect((await visitor.get('request?id=%25%25%25%25%25%25')).status).toBe(404);
  });

  it('offers accounts by a part of their id or display name, at most twenty', async () => {
    await place.look(async ({ accounts }) => {
      const who = { actor: 'cli:anna', at_ms: Date.now() };
      for (let at = 0; at < 25; at++)
        await accounts.create(
          { id: `many-${at}`, plan: 'paid', limits: {}, display_name: at === 7 ? 'Zebra <Inc>' : '' },
          who,
        );
    });
    const offered = async (part: string, of = visitor) =>
      JSON.parse((await of.submit('accounts-like', { part })).text) as { id: string }[];
    await as('viewer').get('requests');
    expect(await offered('zebra', as('viewer'))).toEqual([{ id: 'many-7', display_name: 'Zebra <Inc>' }]);
    expect(await offered('TEST')).toEqual([{ id: 'tester', display_name: '' }]);
    expect(await offered('many-')).toHaveLength(20);
    expect(await textOf('requests?account=many-7')).toContain(
      '<option value="many-7">Zebra &lt;Inc&gt;</option>',
    );
  });

  it('is exported with the columns and figures that are shown, of all pages', async () => {
    await send('-formula', { temperature: 9 });
    await until(async () => (await visitor.get('request?id=-formula')).status === 200);
    const csv = (await textOf('requests-csv?since=all')).trimEnd().split('\r\n');
    expect(csv[0]).toBe(
      'time,request_id,account,model,provider,status,end_reason,error_type,error_message,first_token_s,duration_s,prompt_tokens,completion_tokens,cost_usd,paid_usd',
    );
    expect(csv).toHaveLength(68);
    expect(csv[1]).toMatch(/^20[^,]*Z,'-formula,tester,,,400,refused,/);
    const [cost] = /exactly 0\.\d+/.exec(await textOf('requests?since=all'))!;
    expect(csv.join()).toContain(cost.slice('exactly '.length));
    expect(await textOf('requests-csv?provider=broken&columns=end,request')).toMatch(
      /^request_id,status,end_reason,error_type,error_message\r\nfailed,502,upstream_failed,provider_error,[^\r]*\r\n$/,
    );
    const headOf = async (role: Role) => (await textOf('requests-csv', as(role))).split('\r\n')[0];
    expect([await headOf('operator'), await headOf('viewer')]).toEqual([
      expect.not.stringContaining('usd'),
      expect.not.stringContaining('paid'),
    ]);
  });
});

describe('the overview', () => {
  it('shows requests, errors and times to the first token of a range, each with a link to its requests', async () => {
    await send('no-model', { model: 'no/such' });
    await gateway.stream(ask('Hello?'));
    const asked = '.?since=quarter&by=error_type';
    await until(async () => /First token p50.*?0\.\d+ s/s.test(await textOf(asked)));
    await until(async () =>
      (await textOf(asked)).includes('error_type=invalid_request_error&amp;end=client_error'),
    );
    const links = [...(await textOf(asked)).matchAll(/href="(requests\?[^"]*)"/g)].map(([, link]) =>
      link!.replaceAll('&amp;', '&'),
    );
    const failed = links.find(link => link.includes('error_type=invalid_request_error&end=client_error'))!;
    expect(await textOf(failed)).toContain('400');
    const charts = await textOf('.?since=quarter&by=model');
    const tables = charts.match(/<figure class="chart"[\s\S]*?<\/figure>/g)!;
    expect(tables).toHaveLength(3);
    expect(tables[0]).toMatch(/<th[^>]*>no known model<\/th>/);
    const [, ofPoint = ''] = /<a href="(requests\?[^"]*model=%28none%29[^"]*)">[1-9]/.exec(tables[0]!)!;
    expect(await textOf(ofPoint.replaceAll('&amp;', '&'))).toContain('invalid_request_error');
  });
});

describe('the filters of the overview', () => {
  const requestsIn = async (asked: string) =>
    Number(/<dt>Requests<\/dt><dd><strong><a[^>]*>(\d+)/.exec(await textOf(asked))![1]);

  it('combine, stay over ranges and splits, and narrow every figure and link', async () => {
    const of = (more: Readonly<Record<string, string>>) =>
      `.?${new URLSearchParams({ since: 'hour', ...more })}`;
    await visitor.get('.');
    const { location } = await visitor.post('find', {
      page: '.',
      model,
      provider: 'upstream',
      since: 'day',
      by: 'model',
    });
    const text = await textOf(location!);
    const links = [...text.matchAll(/href="((?:requests|\.)\?[^"]*)"/g)]
      .map(([, link]) => new URLSearchParams(unescaped(link!).split('?')[1]))
      .filter(link => !link.has('failed_at'));
    expect(links.length).toBeGreaterThan(20);
    // The last one leads back to all traffic.
    const unfiltered = links.filter(
      link => link.get('model') !== model || link.get('provider') !== 'upstream',
    );
    expect(unfiltered.map(String)).toEqual(['since=day&by=model']);
    const [all, own, throttled, alone] = await Promise.all(
      [
        {},
        { account: 'tester' },
        { account: 'throttled' },
        { account: 'tester', model: alone_model, provider: 'broken' },
      ].map(more => requestsIn(of(more))),
    );
    expect(throttled).toBeGreaterThan(0);
    expect(own).toBeGreaterThan(60);
    // Pages that others have loaded are shown for some seconds.
    expect(all!).toBeGreaterThan(60);
    expect(alone).toBe(1);
    // Its attempts at the first provider failed, and another answered.
    expect(await textOf(of({ model, provider: 'broken' }))).toContain('No request matches in the last hour.');
    expect(await textOf(of({ account: 'nobody' }))).toContain('No request matches in the last hour.');
  });
});

describe('the stream of the overview', () => {
  /** The parts that an event has anew, as texts where all of them is new. */
  const partsIn = (event: { readonly data: string } | undefined) =>
    JSON.parse(event!.data) as Readonly<Record<string, readonly unknown[]>>;
  /** What a new stream tells first. */
  const read = async (of: DashboardVisitor) => {
    const stream = await liveEvents(of, 'overview-live');
    const event = await stream.next();
    stream.leave();
    return Object.entries(partsIn(event)).map(([name, pieces]) => [name, pieces.join('')] as const);
  };

  it('has the parts of the page, and money for those who see some', async () => {
    const parts = new Map(await read(visitor));
    const names = ['attention', 'failures', 'now', 'providers', 'tiles', 'traffic'];
    expect([...parts.keys()].sort()).toEqual(names);
    expect(parts.get('now')).toContain('0 in flight');
    expect(parts.get('tiles')).toContain('$');
    expect(new Map(await read(as('operator'))).get('tiles')).not.toContain('$');
  });

  it('requires a session, ends with it, and delays no shutdown', async () => {
    const clock = new FakeClock();
    const admin = dashboardAdmin({ session_idle_ms: 60_000 });
    const idle = await startGateway({ upstream: unused, config: { admin }, options: { clock } });
    const stranger = new DashboardVisitor(`${idle.adminUrl}/dashboard/`);
    expect((await liveEvents(stranger, 'overview-live')).status).toBe(401);
    await stranger.signIn();
    const stream = await liveEvents(stranger, 'overview-live');
    expect(partsIn(await stream.next()).now!.join('')).toContain('0 in flight');
    clock.advance(60_000);
    expect(await stream.next()).toMatchObject({ event: 'signed-out' });
    expect(await stream.next()).toBeUndefined();
    await stranger.signIn();
    const open = await liveEvents(stranger, 'overview-live');
    await open.next();
    const began_ms = performance.now();
    const closed = idle.close();
    expect(await open.next()).toBeUndefined();
    await closed;
    expect(performance.now() - began_ms).toBeLessThan(patience_ms(900));
  });
});

describe('the pages of providers and models', () => {
  let own: GatewayUnderTest;
  let of: DashboardVisitor;
  const shown = async (page: string) => (await textOf(page, of)).replaceAll(/<[^>]*>/g, ' ');

  beforeAll(async () => {
    own = await startGateway({
      upstream: unused,
      others: [simulator],
      providers: [
        { breaker: { consecutive_failures: 2, open_ms: 600_000, max_open_ms: 600_000 } },
        { max_concurrent: 7 },
      ],
      config: { admin: dashboardAdmin() },
    });
    of = await operatorAt(own);
  });
  afterAll(() => own.close());

  it('show the state of each provider, how its attempts by model ended, and no key', async () => {
    expect(await shown('providers')).toMatch(
      /second\s+Active\s+Drain\s+Pause\s+0\s+–\s+–\s+–\s+0 of 7\s+1\s/,
    );
    // The first fails at once, and the second answers instead.
    for (let count = 0; count < 3; count++) expect((await own.post(ask('Hello?'))).status).toBe(200);
    await until(async () => /second\s+Active\s+Drain\s+Pause\s+3\s/.test(await shown('providers')));
    const rows =
      /upstream\s+paused, retrying in \d+ \w+[\sDrainPuse]+2\s+100\s%\s+2 unreachable[\s\S]*?second\s+Active[\sDrainPuse]+3\s+0\s%/;
    for (const page of ['providers', modelLink]) {
      const text = await shown(page);
      expect([page, text]).toEqual([page, expect.stringMatching(rows)]);
      expect(text).not.toContain(upstreamKey);
    }
    expect(await shown('models')).toMatch(/upstream\s+paused, retrying in \d+ \w+\s+second\s+Active/);
    const provider = await textOf('provider?name=upstream', of);
    expect(provider).toContain(`href="${modelLink}&amp;since=hour"`);
    expect(provider).toMatch(/href="requests\?failed_at=upstream&amp;since=hour[^"]*">100/);
    expect(provider.replaceAll(/<[^>]*>/g, ' ')).toMatch(/2\s+100\s%\s+2 unreachable/);
  });

  it('show models as clients see them', async () => {
    const { data } = (await (await fetch(`${own.url}/v1/models`)).json()) as { data: { id: string }[] };
    for (const entry of data) {
      const text = await textOf(`model?id=${encodeURIComponent(entry.id)}`, of);
      expect(JSON.parse(unescaped(/<pre tabindex="0">(.*?)<\/pre>/s.exec(text)![1]!))).toEqual(entry);
    }
    expect((await of.get('model?id=none')).status).toBe(404);
  });

  it('take the slow provider out of service in two clicks, and ask before the last one of a model', async () => {
    const drained = formFields(await textOf('providers?since=day', of), 'Drain upstream');
    const { location } = await of.post('provider?name=upstream', { ...drained, change: 'drain' });
    expect(location).toBe('providers?since=day');
    expect(await shown(location!)).toMatch(/drained by operators\s+until .* from the list of providers/);
    const last = formFields(await textOf('providers', of), 'Drain second');
    const asked = await of.post('provider?name=second', { ...last, change: 'drain' });
    expect([asked.status, asked.text]).toEqual([200, expect.stringContaining('Nothing else serves ')]);
    expect(await shown('providers')).toMatch(/second\s+Active/);
    const answer = formFields(asked.text, 'name="confirmed"');
    expect((await of.post('provider?name=second', { ...answer, confirmed: 'yes' })).location).toBe(
      'providers',
    );
    expect(await shown('providers')).toMatch(/second\s+drained by operators\s+until/);
  });
});

describe('the test of a connection', () => {
  const test = async (provider: string, to: string) => {
    await visitor.get(modelLink);
    const { location } = await visitor.post('provider-test', { provider, model: to, back: modelLink });
    return unescaped((await textOf(location!)).replaceAll(/<[^>]*>/g, ' '));
  };

  it('says in its row whether a provider answers, and what to do', async () => {
    expect(await test('upstream', 'aion-3.5')).toMatch(
      /aion-3\.5[\s\S]*Test\s[\s\S]*ok\s+answered in \d+ ms/,
    );
    expect(await test('broken', 'away')).toMatch(
      /away[\s\S]*fault\s+http:\/\/127\.0\.0\.1:9\/v1: nothing listens there \(ECONNREFUSED\): start the server/,
    );
  });

  it('asks for what is configured alone', async () => {
    for (const [provider, to] of [
      ['upstream', 'other'],
      ['none', ''],
    ])
      expect((await visitor.post('provider-test', { provider: provider!, model: to! })).status).toBe(404);
  });
});

describe('where options come from', () => {
  it.each([modelLink, 'provider?name=upstream'])('is shown on %s to admins alone', async page => {
    const texts = await Promise.all(operatorRoles.map(role => textOf(page, as(role))));
    const shown = texts.map(text => text.includes('As configured, with lines'));
    expect(shown).toEqual(operatorRoles.map(role => role === 'admin'));
  });

  it('tells what was given from what is a default, and shows no key', async () => {
    const own = await startGateway({ upstream: simulator, config: { admin: dashboardAdmin() } });
    const text = await textOf('provider?name=upstream', await operatorAt(own));
    const row = (name: string) => tableRows(text).find(([option]) => option === name);
    expect(row('adapter')).toEqual(['adapter', 'vllm', 'code']);
    expect(row('api_key')).toEqual(['api_key', 'set, and not shown', 'code']);
    expect(row('breaker.open_ms')).toEqual(['breaker.open_ms', '5000', 'default']);
    expect(text).not.toContain(upstreamKey);
    await own.close();
  });
});

describe('what providers are paid', () => {
  it.each([
    ['request?id=covered', '<dt>Paid</dt>'],
    ['requests', '>Paid<'],
    ['usage', '>Margin<'],
    [modelLink, 'Paid to upstream'],
    ['usage-csv?by=model', 'margin_usd'],
  ])('is shown on %s to admins alone', async (page, shown) => {
    const texts = await Promise.all(operatorRoles.map(role => textOf(page, as(role))));
    expect(texts.map(text => text.includes(shown))).toEqual(operatorRoles.map(role => role === 'admin'));
    for (const [at, role] of operatorRoles.entries())
      if (role !== 'admin') expect(texts[at]).not.toMatch(/paid_|margin/i);
  });
});

const day_ms = 86_400_000;
const command = async (...args: string[]): Promise<string> =>
  (await runCommand({ providers: {}, models: [], stores: place.stores } as never, 'usage', '--csv', ...args))
    .stdout;
const exported = (query: string): Promise<string> => textOf(`usage-csv?${query}`);
const lines = (csv: string): string[] => csv.trim().split(/\r?\n/);

describe('usage', () => {
  beforeAll(() => place.look(({ ledger }) => ledger.insert(halfAYear(key))));

  it.each([
    ['by=model', ['--by', 'model']],
    ['by=account', ['--by', 'account']],
    ['by=day&by=account&by=model', ['--by', 'day', '--by', 'account', '--by', 'model']],
    ['account=acme&by=day', ['--account', 'acme', '--by', 'day']],
    ['model=a%2Fb&by=account&by=month', ['--model', 'a/b', '--by', 'account', '--by', 'month']],
    ['by=provider&by=day', ['--by', 'provider,day']],
    ['account=acme&by=hour&by=key', ['--account', 'acme', '--by', 'hour', '--by', 'key']],
    ['model=(none)&by=month', ['--model', '(none)', '--by', 'month']],
  ])('is exported exactly as the command prints it: %s', async (query, args) => {
    const csv = lines(await exported(`from=2025-09-01&to=2026-02-28&${query}`));
    expect(csv.length).toBeGreaterThan(2);
    expect(csv).toEqual(lines(await command('--from', '2025-09-01', '--to', '2026-02-28', ...args)));
  });

  it('is shown with the sums of the command', async () => {
    const [titles, ...rows] = lines(
      await command('--from', '2025-09-10', '--to', '2025-10-20', '--by', 'model'),
    ).map(line => line.split(','));
    const column = (name: string) => titles!.indexOf(name);
    const page = (await textOf('usage?from=2025-09-10&to=2025-10-20&by=model')).replaceAll('\u202f', '');
    for (const row of rows) {
      expect(page).toContain(` class="number">${row[column('prompt_tokens')]}</td>`);
      expect(page).toContain(` class="number">${row[column('total_tokens')]}</td>`);
      expect(page).toContain(`exactly ${row[column('cost_usd')]} USD`);
    }
    const [, foot] = page.split('<tfoot>');
    for (const name of ['requests', 'errors', 'prompt_tokens', 'total_tokens']) {
      const all = rows.reduce((sum, row) => sum + Number(row[column(name)]), 0);
      expect(foot).toContain(` class="number">${all}</td>`);
    }
    const picos = rows.map(row => BigInt(Math.round(Number(row[column('cost_usd')]) * 1e12)));
    const [, cost] = /data-label="Cost" class="number"><data value="([^"]+)"/.exec(foot!)!;
    expect(BigInt(Math.round(Number(cost) * 1e12))).toBe(picos.reduce((sum, pico) => sum + pico));
  });

  it('is exported by month as the command prints it, and shown with the same costs to print', async () => {
    const csv = lines(await textOf('statement-csv?account=acme&month=2025-10'));
    expect(csv).toEqual(lines(await command('--month', '2025-10', '--account', 'acme')));
    const page = (await textOf('statement?account=acme&month=2025-10')).replaceAll('\u202f', '');
    expect(csv.length).toBeGreaterThan(2);
    for (const line of csv.slice(1)) expect(page).toContain(`>$${line.split(',').at(-1)}</data>`);
    const month = new Date(Date.now()).toISOString().slice(0, 7);
    expect((await textOf('statement?account=acme')).match(/<dt>Number<\/dt><dd>([\d-]+)/)![1]! < month).toBe(
      true,
    );
    expect((await visitor.get('statement')).location).toBe('usage?time=last-month&by=account');
    expect(lines(await command('--month', '2025-10')).length).toBeGreaterThan(csv.length);
    for (const query of ['account=acme&month=2025-13', 'month=x&account=acme'])
      expect((await visitor.get(`statement?${query}`)).status).toBe(422);
    expect((await visitor.get('statement?account=nobody-at-all')).status).toBe(404);
  });

  it('has the credit that was added in the month on its statement, of those who see money', async () => {
    const at = (day: number) => ({ actor: 'olga', at_ms: Date.UTC(2025, 9, day) });
    const account = { id: 'prepaid', plan: null, limits: { usd_total: '10' } };
    await place.look(async ({ accounts }) => {
      await accounts.create(account, at(1));
      for (const [day, amount_usd] of [
        [30, '25.5'],
        [40, '4'],
      ] as const)
        await accounts.topUp('prepaid', { amount_usd, ofPlan: () => undefined }, at(day));
    });
    const page = await textOf('statement?account=prepaid&month=2025-10');
    expect(page).toMatch(/>\$25\.50<[\s\S]*>\$35\.50</);
    expect(page).not.toContain('$39.50');
    expect(await textOf('statement?account=prepaid&month=2025-10', as('operator'))).not.toContain('Credit');
  });

  it.each([
    ['from=yesterday', 'is no day'],
    ['from=2026-02-31', 'is no day'],
    ['from=2026-02-02&to=2026-02-01', 'is after the last'],
    ['from=%3Cscript%3E', '&lt;script&gt;'],
    ['key=key_of_no_account', ''],
  ])('rejects %s with a readable message', async (query, words) => {
    const page = await visitor.get(`usage?${query}`);
    expect(page).toMatchObject({ status: 422, text: expect.stringContaining(words) });
    expect((await visitor.get(`usage-csv?${query}`)).status).toBe(422);
  });

  it('is exported with each field once, and by no unknown one', async () => {
    const { status, text } = await visitor.get(`usage-csv?${'&by=day'.repeat(1500)}`);
    expect([status, text.slice(0, 20)]).toEqual([200, 'day,requests,errors,']);
    expect((await visitor.get('usage-csv?by=key')).status).toBe(422);
  });

  /** The targets of a page's links, by their texts. */
  const linksOf = (text: string): ReadonlyMap<string, URLSearchParams> =>
    new Map(
      [...text.matchAll(/<a href="usage\?([^"]*)"[^>]*>(?:<[^>]*>)?([^<]+)</g)].map(([, query, name]) => [
        name!,
        new URLSearchParams(query!.replaceAll('&amp;', '&')),
      ]),
    );

  it('has times by name, which move with the calendar', async () => {
    const text = await textOf('usage?time=7d&by=provider&show=requests&account=acme');
    const day = (ago: number) => new Date(Date.now() - ago * day_ms).toISOString().slice(0, 10);
    expect(text).toContain(`name="from" value="${day(6)}"`);
    expect(text).toContain(`name="to" value="${day(0)}"`);
    const links = linksOf(text);
    expect([...links.keys()]).toEqual(
      expect.arrayContaining(['Today', '7 days', '30 days', '90 days', 'This month', 'Last month']),
    );
    const kept = { account: 'acme', by: 'provider', show: 'requests' };
    expect(Object.fromEntries(links.get('Last month')!)).toEqual({ time: 'last-month', ...kept });
    expect(text).toMatch(/aria-current="true">7 days</);
    const [, from] = /name="from" value="([^"]+)"/.exec(await textOf('usage?time=last-month'))!;
    expect(from).toMatch(/-01$/);
    expect(from! < `${day(0).slice(0, 8)}01`).toBe(true);
  });

  it('leads from each line to what it is made of, and back', async () => {
    const kept = { from: '2025-09-01', to: '2025-09-30', by: 'account', show: 'cost' };
    const month = linksOf(await textOf(`usage?${new URLSearchParams(kept)}`));
    const ofAcme = { ...kept, account: 'acme', by: 'model' };
    expect(Object.fromEntries(month.get('acme')!)).toEqual(ofAcme);
    const acme = await textOf(`usage?${new URLSearchParams(ofAcme)}`);
    expect(acme).toContain('href="statement?account=acme"');
    expect(Object.fromEntries(linksOf(acme).get('All usage')!)).toEqual(kept);
    expect(Object.fromEntries(linksOf(acme).get('a/b')!)).toEqual({ ...ofAcme, model: 'a/b', by: 'key' });
    const ofDay = Object.fromEntries(month.get('2025-09-17')!);
    expect(ofDay).toEqual({ ...kept, from: '2025-09-17', to: '2025-09-17' });
    const day = await textOf(`usage?${new URLSearchParams(ofDay)}`);
    expect(day).toContain('Cost by hour</h2>');
    expect(day).toContain('requests?since=2025-09-17T');

    const keys = await textOf('usage?from=2025-09-01&to=2025-09-30&account=acme&by=key');
    const [name, ofKey] = [...linksOf(keys)].find(([name]) => name.startsWith('nightly …'))!;
    expect(ofKey.get('key')).toBe(key);
    expect(keys).toContain(`href="key?id=${key}"`);
    const one = await textOf(`usage?${ofKey}`);
    expect(one).toContain(`key <strong>${name}</strong>`);
  });

  it('tells since when there are sums by provider, and leaves out what is before and to come', async () => {
    const text = await textOf('usage?from=2000-01-01&to=2099-12-31&account=acme&by=provider');
    expect(text).toContain('is known from 2025-09-01 on; earlier days are left out.');
    for (const year of [2000, 2099])
      expect(await textOf(`usage?from=${year}-01-01&to=${year}-01-02&by=provider`)).toContain(
        'The ledger has nothing',
      );
  });

  it('is compared with the same days of the month before', async () => {
    const text = await textOf('usage?from=2025-10-11&to=2025-10-20&show=requests');
    expect(text).toContain('Compared with 2025-09-11 to 2025-09-20.');
    const count = (month: number) =>
      halfAYear().filter(
        ({ started_ms }) => started_ms >= Date.UTC(2025, month, 11) && started_ms < Date.UTC(2025, month, 21),
      ).length;
    const [now, before] = [count(9), count(8)];
    const change = Number((((now - before) / before) * 100).toFixed(1));
    expect(text).toContain(
      `<strong>${now}</strong> <span class="change">${change === 0 ? '±0' : `${change > 0 ? '+' : '−'}${Math.abs(change)}`} %</span>`,
    );
    expect(text).toContain('data-role="before">2025-09-11 to 2025-09-20<');
    expect(text.split('<tfoot>')[1]).toContain(`data-label="Before" class="number">${before}<`);
    expect(await textOf('usage?from=2025-12-01&to=2025-12-31')).toContain(
      'Compared with 2025-11-01 to 2025-11-30, a day less: that month is shorter.',
    );
    expect(await textOf('usage?from=2025-09-01&to=2025-09-20')).not.toContain('Compared with');
  });
});

interface Expected {
  /** Addresses to visit, with every part of the page that depends on data. */
  readonly visits: readonly string[];
  /** Statuses of a visit, by role: 405 for a page that only takes forms. */
  readonly get: Readonly<Record<Role, number>>;
  /** Fields of a form that changes something for an admin. */
  readonly form?: Readonly<Record<string, string>>;
  /** True if a viewer may send it. */
  readonly changesNothing?: true;
  /** A page that does not end. */
  readonly streams?: true;
}

const all = (status: number): Expected['get'] => ({ admin: status, operator: status, viewer: status });
const adminOnly = (status: number): Expected['get'] => ({ admin: status, operator: 403, viewer: 403 });
const noOperator = { admin: 200, operator: 403, viewer: 200 };

/** Every page has a row; `KEY` is a key's id, `NEXT` what changes something the first time. */
const expected: Readonly<Record<string, Expected>> = {
  '': { visits: ['', '?range=day', '?range=month'], get: all(200) },
  'overview-live': { visits: ['overview-live'], get: all(200), streams: true },
  find: {
    visits: ['find'],
    get: all(303),
    form: { page: 'keys', search: 'x' },
    changesNothing: true,
  },
  accounts: { visits: ['accounts'], get: all(200), form: { id: 'NEXT', plan: 'paid' } },
  account: {
    visits: ['account?id=acme', 'account?id=tester'],
    get: all(200),
    form: { display_name: 'NEXT' },
  },
  limits: { visits: ['limits?account=acme'], get: all(200), form: { requests_per_minute: '77' } },
  people: {
    visits: ['people?account=acme', 'people?account=acme&invited=carla'],
    get: all(200),
    form: { change: 'invite', customer: 'NEXT' },
  },
  history: { visits: ['history?account=acme'], get: all(200) },
  keys: {
    visits: ['keys?account=acme', 'keys', 'keys?all=yes'],
    get: all(200),
    form: { name: 'NEXT', expires: 'never' },
  },
  key: {
    visits: ['key?id=KEY', 'key?id=KEY&do=rotate', 'key?id=KEY&show=none'],
    get: all(200),
    form: { name: 'NEXT' },
  },
  requests: { visits: ['requests', 'requests?account=tester&end=completed'], get: all(200) },
  'requests-live': { visits: ['requests-live'], get: all(200), streams: true },
  'requests-csv': { visits: ['requests-csv', 'requests-csv?sort=cost'], get: all(200) },
  'in-flight-live': { visits: ['in-flight-live'], get: all(200), streams: true },
  'accounts-like': {
    visits: ['accounts-like'],
    get: all(405),
    form: { part: 'acm' },
    changesNothing: true,
  },
  'in-flight': { visits: ['in-flight'], get: all(200), form: { run: '1_none' } },
  request: { visits: ['request?id=covered'], get: all(200) },
  usage: {
    visits: [
      'usage',
      'usage?measure=cost',
      'usage?measure=usd',
      'usage?group=account&measure=cost',
      'usage?account=tester&group=key',
    ],
    get: all(200),
  },
  statement: { visits: ['statement?account=tester'], get: all(200) },
  'statement-csv': { visits: ['statement-csv?account=tester'], get: all(200) },
  'usage-csv': { visits: ['usage-csv', 'usage-csv?by=day&by=account'], get: all(200) },
  'time-zone': { visits: ['time-zone'], get: all(200), form: { zone: 'UTC' }, changesNothing: true },
  models: { visits: ['models'], get: all(200) },
  model: { visits: [modelLink], get: all(200) },
  providers: { visits: ['providers'], get: all(200) },
  'provider-test': {
    visits: ['provider-test'],
    get: all(405),
    form: { provider: 'upstream', back: 'models' },
  },
  provider: { visits: ['provider?name=upstream'], get: all(200), form: { change: 'resume' } },
  playground: { visits: ['playground'], get: all(200) },
  'playground-run': {
    visits: ['playground-run'],
    get: all(405),
    form: { request: JSON.stringify(ask('Hello?', { stream: true })), key: clientKey },
    changesNothing: true,
  },
  'playground-record': { visits: ['playground-record?id=covered'], get: all(200) },
  audit: { visits: ['audit', 'audit?action=account'], get: noOperator },
  'audit-csv': { visits: ['audit-csv'], get: noOperator },
  notices: { visits: ['notices'], get: adminOnly(200), form: {} },
};

const filled = (text: string, next = 'next') => text.replaceAll('KEY', key).replaceAll('NEXT', next);

/** What a page without an end sends first. */
async function beginning(role: Role, page: string): Promise<{ status: number; text: string }> {
  const { base, cookie } = as(role);
  const left = new AbortController();
  const response = await fetch(base + page, { headers: { cookie }, signal: left.signal });
  const { value } = await response.body!.pipeThrough(new TextDecoderStream()).getReader().read();
  left.abort();
  return { status: response.status, text: value ?? '' };
}

const visited = (role: Role, { streams }: Expected, page: string) =>
  streams ? beginning(role, filled(page)) : as(role).get(filled(page));

const changes = () =>
  place.look(async ({ audit }) => (await audit.list({ limit: 1000 })).map(({ action }) => action));

describe('the pages of the dashboard', () => {
  it('each have an expectation here for every role', () => {
    expect(pages.map(({ name }) => name).toSorted()).toEqual(Object.keys(expected).toSorted());
    const takeForms = pages.filter(({ post }) => post).map(({ name }) => name);
    const withForm = Object.keys(expected).filter(name => expected[name]!.form);
    expect(takeForms.toSorted()).toEqual(withForm.toSorted());
  });

  it.each(operatorRoles)('are open to the role %s as expected', async role => {
    for (const [name, row] of Object.entries(expected))
      for (const page of row.visits) {
        const { status } = await visited(role, row, page);
        expect([name, page, status]).toEqual([name, page, row.get[role]]);
      }
  });
});

describe('the time zone', () => {
  it('is that of the cookie, which its page sets, on all pages', async () => {
    const own = new DashboardVisitor(visitor.base);
    await own.signIn();
    expect((await own.get('audit')).text).toContain('All times are in UTC. <a href="time-zone">');
    const asked = await own.get('time-zone', { referer: `${own.base}audit?who=olga` });
    expect(asked.text).toContain('name="next" value="audit?who=olga"');
    expect((await own.get('time-zone', { referer: 'https://example.com/x.y' })).text).toContain(
      'name="next" value="."',
    );
    expect((await own.post('time-zone', { zone: 'Mars/Olympus' })).status).toBe(422);
    const { location } = await own.post('time-zone', { zone: 'Asia/Tokyo', next: 'audit' });
    const { text } = await own.get(location!);
    const [, iso, day, time] =
      /<time datetime="([^"]+)"[^>]*><span class="nowrap">([^<]+)<\/span> ([^<]+)/.exec(text)!;
    expect(Date.parse(`${day}T${time}+09:00`)).toBe(Date.parse(`${iso!.slice(0, 16)}Z`));
    expect(text).toContain('All times are in Asia/Tokyo.');
    expect((await own.get('usage')).text).toContain('Days and hours of usage are those of UTC.');
  });
});

describe('a page', () => {
  it('takes at most 200 kB with its scripts and styles, as they are sent', async () => {
    const admin = as('admin');
    const known = new Map<string, number>();
    /** Adds up what a file and those that it names take, each once. */
    const load = async (path: string, seen: Set<string>): Promise<number> => {
      if (seen.has(path)) return 0;
      seen.add(path);
      const { headers, text } = await admin.get(path, { 'accept-encoding': 'br' });
      known.set(path, Number(headers.get('content-length')));
      const folder = path.startsWith('assets-') ? path.replace(/[^/]+$/, '') : '';
      const names = [...text.matchAll(/(?:src|href)="(assets-[^"]+)"|'\.\/([\w.-]+\.js)'/g)];
      const parts = await Promise.all(names.map(([, link, file]) => load(link ?? folder + file, seen)));
      return parts.reduce((sum, part) => sum + part, known.get(path)!);
    };
    for (const [name, { visits, streams, get }] of Object.entries(expected)) {
      if (streams || get.admin !== 200 || name === 'requests-csv') continue;
      const bytes = await load(filled(visits[0]!), new Set());
      expect([name, bytes > 0 && bytes < 200_000]).toEqual([name, true]);
    }
    // What is charted loads the library.
    expect([...known].filter(([path, bytes]) => path.includes('uPlot') && bytes > 10_000)).toHaveLength(1);
  });
});

describe('the audit log', () => {
  it('has who signed in, out and was refused, with the address, and is linked for those who may read it', async () => {
    const leaving = new DashboardVisitor(visitor.base);
    await leaving.signIn('wrong', 'olga');
    await leaving.signIn(operator.password, 'vera');
    expect(whoIn(await leaving.get(''))).toBe('vera · viewer');
    await leaving.post('sign-out', {});
    const { text } = await as('admin').get('audit');
    for (const said of ['was refused to sign in', 'signed in', 'signed out', '127.0.0.1'])
      expect(text).toContain(said);
    expect(text).not.toContain('wrong');
    for (const role of operatorRoles)
      expect([role, (await as(role).get('')).text.includes('href="audit"')]).toEqual([
        role,
        role !== 'operator',
      ]);
  });
});

describe('somebody who sees no money', () => {
  const money =
    /\$\s?[\d.]|usd|dollar|cost(?!a_)|spen[dt]|pric[ei]|\b(4,?321|5,?432|6,?543|7,?654|8,?765)\b/i;
  /** Without the names of parts of a page, and what is random. */
  const told = (text: string) =>
    text.replace(/ (id|aria-labelledby)="[^"]*"|"form_token" value="[^"]*"/g, '');

  it('finds none on any page, in any export and any data of a script', async () => {
    const found: string[] = [];
    for (const row of Object.values(expected))
      for (const page of row.visits) {
        const text = told((await visited('operator', row, page)).text);
        const seen = money.exec(text);
        if (seen) found.push(`${page}: ${text.slice(Math.max(0, seen.index - 80), seen.index + 80)}`);
      }
    expect(found).toEqual([]);
  });

  it('finds it as an admin and as a viewer, so that there is something to hide', async () => {
    for (const role of ['admin', 'viewer'] as const)
      for (const name of [
        'account',
        'key',
        'usage',
        'request',
        'playground-record',
        'models',
        'model',
        'audit',
      ]) {
        const { text } = await visited(role, expected[name]!, expected[name]!.visits[0]!);
        expect([role, name, money.test(told(text))]).toEqual([role, name, true]);
      }
  });

  it('gets no cost with an answer of the playground', async () => {
    const { form } = expected['playground-run']!;
    await as('operator').get('playground');
    const { status, text } = await as('operator').post('playground-run', form!);
    expect(status).toBe(200);
    expect(text).toContain('completion_tokens');
    expect(text).not.toMatch(/cost|usd/i);
  });

  it('keeps the limits in US dollars of an account and of a key that they change', async () => {
    await as('operator').get('account?id=acme');
    const limits = { requests_per_minute: '3', usd_per_month: '1' };
    expect((await as('operator').post('limits?account=acme', limits)).status).toBe(303);
    await as('operator').get(filled('key?id=KEY'));
    const ofKey = { name: 'nightly', requests_per_minute: '4', usd_per_month: '1' };
    expect((await as('operator').post(filled('key?id=KEY'), ofKey)).status).toBe(303);
    const kept = await place.look(async ({ accounts, keys }) => [
      (await accounts.find('acme'))!.limits,
      (await keys.find(key))!.limits,
    ]);
    expect(kept).toEqual([
      { usd_per_month: 5432, requests_per_minute: 3 },
      { usd_per_month: 7654, requests_per_minute: 4 },
    ]);
  });
});

describe('somebody who may change nothing', () => {
  /** Pages that forms are sent to, and pages that links lead to, on all pages. */
  const shown = async (role: Role) => {
    const found = { posts: new Set<string>(), leads: new Set<string>() };
    for (const row of Object.values(expected))
      for (const page of row.visits) {
        const { text } = await visited(role, row, page);
        for (const [, method, to = ''] of text.matchAll(/<form method="(\w+)" action="([^"?]*)/g))
          found[method === 'post' ? 'posts' : 'leads'].add(to);
        for (const [, to = ''] of text.matchAll(/href="([^"?]*)/g)) found.leads.add(to);
      }
    return found;
  };

  it('is shown no form that changes something, and no way to one', async () => {
    const closed = Object.keys(expected).filter(name => expected[name]!.get.viewer === 403);
    const viewer = await shown('viewer');
    expect([...viewer.posts].filter(name => !expected[name]?.changesNothing)).toEqual(['sign-out']);
    expect(closed.filter(name => viewer.leads.has(name))).toEqual([]);
    const admin = await shown('admin');
    const forms = Object.keys(expected).filter(name => expected[name]!.form);
    const sent = forms.filter(name => !expected[name]!.changesNothing);
    expect(sent.filter(name => !admin.posts.has(name))).toEqual([]);
  });

  it('changes nothing with any form, and everybody else does', async () => {
    const sent = async (role: Role) => {
      const statuses: Record<string, number> = {};
      for (const [name, { visits, form, changesNothing }] of Object.entries(expected)) {
        if (!form || changesNothing) continue;
        await as(role).get('keys?account=acme');
        if (role !== 'viewer') await as(role).get(filled(visits[0]!));
        const fields = Object.entries(form).map(([field, value]) => [field, filled(value, `by-${role}`)]);
        statuses[name] = (await as(role).post(filled(visits[0]!), Object.fromEntries(fields))).status;
      }
      return statuses;
    };
    const told = await as('viewer').post('accounts', { id: 'of-viewer' });
    expect(told.text).toContain('The role viewer may not change anything.');
    const before = await changes();
    expect(new Set(Object.values(await sent('viewer')))).toEqual(new Set([403]));
    expect(await changes()).toEqual(before);
    const refused = Object.entries(await sent('operator')).filter(([, status]) => status >= 400);
    expect(refused).toEqual([
      ['people', 403],
      ['in-flight', 403],
      ['provider-test', 403],
      ['notices', 403],
    ]);
    expect((await changes()).length).toBeGreaterThan(before.length);
  });
});

describe('the requests in flight', () => {
  /** A request that would not end by itself, once the page lists it, with the field that ends it. */
  const begun = async (id: string, more: object) => {
    const headers = { 'x-request-id': id };
    const reply = gateway.post(ask('[[sim:tokens=endless tps=50]]', more), { headers });
    const button = new RegExp(`name="run" value="(\\d+_${id})"`);
    await until(async () => button.test(await textOf('in-flight')));
    return { reply, run: button.exec(await textOf('in-flight'))![1]! };
  };

  it('are listed for operators, and ended by admins alone, with an error and with a bill for what has come', async () => {
    const { reply, run } = await begun('endless', { stream: true });
    const listed = await textOf('in-flight', as('viewer'));
    expect(listed).toContain('>endless</code>');
    expect(listed).not.toContain('Cancel');
    expect((await as('operator').submit('in-flight', { run })).status).toBe(403);
    expect((await visitor.submit('in-flight', { run: '1_endless' })).status).toBe(303);
    await until(async () => /class="number">[1-9]\d*<\/td>/.test(await textOf('in-flight')));
    expect((await visitor.submit('in-flight', { run })).location).toBe('in-flight');
    const events = await (await reply).text();
    expect(events).toMatch(/"type":"server_error".*data: \[DONE\]\n\n$/s);
    expect(await textOf('in-flight')).not.toContain('>endless</code>');
    await until(async () => (await visitor.get('request?id=endless')).status === 200);
    const text = await textOf('request?id=endless');
    expect(text).toContain('cancelled');
    expect(text).toMatch(/<dt>Completion tokens<\/dt><dd>[1-9]/);
    expect(await textOf('audit?action=request.cancel')).toContain('<a href="request?id=endless">endless</a>');
  });

  it('are answered 502 without an invitation to retry where no reply has begun', async () => {
    const { reply, run } = await begun('whole', {});
    await visitor.submit('in-flight', { run });
    const { status, headers } = await reply;
    expect([status, headers.get('x-should-retry')]).toEqual([502, 'false']);
  });
});
