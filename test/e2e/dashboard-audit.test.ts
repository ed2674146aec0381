import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DashboardVisitor, dashboardAdmin } from '../support/dashboard-visitor.ts';
import { type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { type RecordsPlace, recordsPlace, runCommand } from '../support/records-place.ts';

let place: RecordsPlace;
let gateway: GatewayUnderTest;
let visitor: DashboardVisitor;

const day_ms = 86_400_000;
const yesterday_ms = Date.parse('2026-11-19T12:00:00Z');

beforeAll(async () => {
  place = await recordsPlace();
  await place.look(async ({ accounts, keys }) => {
    const by = (actor: string, at_ms: number) => ({ actor, at_ms });
    const limits = { usd_per_month: 5 };
    await accounts.create({ id: 'acme', plan: null, limits }, by('anna', yesterday_ms));
    await accounts.change('acme', { limits: { usd_per_month: 50 } }, by('anna', yesterday_ms + day_ms));
    const key = { account: 'acme', name: '=HYPERLINK("x")', expires_ms: null };
    await keys.create(key, by('otto', yesterday_ms + day_ms + 1));
  });
  gateway = await startGateway({
    upstream: 'http://127.0.0.1:9/v1',
    config: { admin: dashboardAdmin(), stores: place.stores },
  });
  visitor = new DashboardVisitor(`${gateway.adminUrl}/dashboard/`);
  await visitor.signIn();
});
afterAll(async () => {
  await gateway?.close();
  await place?.remove();
});

/** The third and the fourth column of the page: address left out. */
async function changesAt(query: string): Promise<string[]> {
  const { text } = await visitor.get(`audit?${query}`);
  return [
    ...text.matchAll(/<tr><td[^>]*>.*?<\/td><td[^>]*>([^<]*)<\/td><td[^>]*>[^<]*<\/td><td[^>]*>([^<]*)</gs),
  ].map(([, who, change]) => `${who} ${change}`);
}

describe('the audit log', () => {
  it('is filtered by person, kind of change, target and days', async () => {
    expect(await changesAt('')).toEqual([
      'olga signed in',
      'otto issued the key',
      'anna changed the account',
      'anna created the account',
    ]);
    expect(await changesAt('who=anna&action=account.change')).toEqual(['anna changed the account']);
    expect(await changesAt('action=key')).toEqual(['otto issued the key']);
    expect(await changesAt('target=acme&from=2026-11-20')).toEqual(['anna changed the account']);
    expect(await changesAt('target=acme&to=2026-11-19')).toEqual(['anna created the account']);
    expect(await changesAt('who=nobody')).toEqual([]);
  });

  it('keeps its filters in the form and in the export, and ignores those that make no sense', async () => {
    const { text } = await visitor.get('audit?who=anna&action=account&from=2026-11-19&to=tomorrow');
    expect(text).toContain('name="who" value="anna"');
    expect(text).toMatch(/<option value="account" selected>/);
    expect(text).toContain('name="to" value=""');
    expect(text).toContain('href="audit-csv?who=anna&amp;action=account&amp;from=2026-11-19"');
    expect(await changesAt('action=drop')).toHaveLength(4);
  });

  it('shows the limit before a change and after it', async () => {
    const { text } = await visitor.get('audit?action=account.change');
    expect(text).toContain('Dollars per month: 5 → 50');
  });

  it('is exported as CSV in which no text is a formula', async () => {
    const { headers, text } = await visitor.get('audit-csv?who=otto');
    expect(headers.get('content-disposition')).toBe('attachment; filename="audit-log.csv"');
    const [titles, line, ...rest] = text.split('\r\n');
    expect(titles).toBe('time,who,from,action,target,detail');
    expect(line).toMatch(/^2026-11-20T12:00:00\.001Z,otto,,key\.create,key_\w+,"\{""account"":""acme""/);
    expect(rest).toEqual(['']);
  });

  it('is listed by the command', async () => {
    const config = { providers: {}, models: [], stores: place.stores } as never;
    const asked = ['--action', 'account', '--to', '2026-11-19', '--csv'];
    const { stdout, code } = await runCommand(config, 'audit', ...asked);
    expect(code).toBe(0);
    expect(stdout).toContain('2026-11-19T12:00:00.000Z,anna,,account.create,acme,');
    expect(stdout.trim().split('\n')).toHaveLength(2);
  });
});
