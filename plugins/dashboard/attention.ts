import {
  day_ms,
  type ExtensionContext,
  type ProviderState,
  providerStates,
  rowOf,
} from '../../src/plugin.ts';
import { type NearLimit, nearLimits } from './account-view.ts';
import { samplesOf } from './live-figures.ts';
import { accountLink, countOf, durationOf, linkOf, minuteOf, percentOf } from './view/format.ts';
import { type Html, html, type Part } from './view/html.ts';
import { providerMarks, stateMark } from './view/provider-table.ts';
import { panel } from './view/shell.ts';

/** Tools renew a certificate a month before its end; the log warns from here on as well. */
const certificate_ms = 14 * day_ms;
/** Rows reach the ledger within seconds. */
const behind_s = 60;
/** Limits that are shown, the fullest ones. */
const max_limits = 5;

/** A condition that an operator should act on, with the page for it. */
interface Concern {
  readonly what: Part;
  readonly action: Html;
}

/** What needs attention now: stores that fail, providers, certificates, limits near their end. One quiet line if nothing does. */
export async function attention(context: ExtensionContext, withMoney: boolean): Promise<Html> {
  const [{ conditions }, providers, limits, certificates, behind] = await Promise.all([
    context.server.all(),
    providerStates(context),
    nearLimits(context),
    certificateConcerns(context),
    ledgerConcerns(context),
  ]);
  const faults = conditions.filter(line => !isFine(line)).map(faultOf);
  const concerns = [
    ...faults,
    ...(faults.length > 0 ? [] : behind),
    ...providers.filter(needsLook).map(providerConcern),
    ...certificates,
    ...limitConcerns(limits, withMoney),
  ];
  if (concerns.length === 0)
    return html`<p class="muted">Nothing needs attention: stores and providers answer, and no account that this instance has served has used 80 % of a limit.</p>`;
  const list = html`<ul class="limits">${concerns.map(({ what, action }) => html`<li class="row"><span>${what}</span> ${action}</li>\n`)}</ul>`;
  return panel('attention', 'Needs attention', list);
}

/** A line that says that all workers are ready is no concern. */
function isFine(condition: string): boolean {
  const [, ready, all] = /^(\d+) of (\d+) workers are ready$/.exec(condition) ?? [];
  return ready !== undefined && ready === all;
}

const link = (page: string, query: Readonly<Record<string, string>>, text: string): Html =>
  html`<a href="${linkOf(page, query)}">${text}</a>`;

const bad = (label: string): Html => stateMark({ label, tone: 'bad' });

const faultOf = (condition: string): Concern => ({
  what: bad(condition),
  action: link('requests', { since: 'quarter', end: 'gateway_failed' }, 'Requests that failed here'),
});

async function ledgerConcerns({ server }: ExtensionContext): Promise<Concern[]> {
  const registry = await server.registry();
  const [age, rows] = await Promise.all(
    ['sluice_ledger_oldest_row_age_seconds', 'sluice_ledger_queue_rows'].map(name =>
      samplesOf(registry, name),
    ),
  );
  const oldest_s = Math.max(0, ...age!.map(({ value }) => value));
  const waiting = rows!.reduce((sum, { value }) => sum + value, 0);
  if (oldest_s < behind_s) return [];
  return [
    faultOf(
      `the ledger is behind: ${countOf(waiting, 'row')}, the oldest for ${durationOf(oldest_s * 1000)}`,
    ),
  ];
}

const needsLook = ({ control, healthy, breaker, bulkhead }: ProviderState): boolean =>
  control !== undefined || !healthy || breaker.state !== 'closed' || !bulkhead.hasPermit;

const providerConcern = (provider: ProviderState): Concern => ({
  what: html`<strong>${provider.name}</strong> ${providerMarks(provider)}`,
  action: link('provider', { name: provider.name }, 'Pause, drain or resume'),
});

async function certificateConcerns({ server, clock }: ExtensionContext): Promise<Concern[]> {
  const registry = await server.registry();
  const [upstreams, listeners] = await Promise.all(
    ['upstream', 'listener'].map(name =>
      samplesOf(registry, `sluice_${name}_certificate_expiry_timestamp_seconds`),
    ),
  );
  const ends = (value: number) =>
    bad(`certificate ${value * 1000 < clock.epoch_ms() ? 'ended' : 'ends'} ${minuteOf(value * 1000)}`);
  const isSoon = ({ value }: { readonly value: number }) => value * 1000 - clock.epoch_ms() < certificate_ms;
  return [
    ...upstreams!.filter(isSoon).map(({ labels, value }) => {
      const name = String(labels.sluice_provider);
      return {
        what: html`<strong>${name}</strong> ${ends(value)}`,
        action: link('provider', { name }, 'Provider'),
      };
    }),
    ...listeners!.filter(isSoon).map(({ labels, value }) => ({
      what: html`The ${String(labels.listener)} listener ${ends(value)}`,
      action: html`<span class="muted">Put a new one in place of its file: it is read by itself.</span>`,
    })),
  ];
}

function limitConcerns(all: readonly NearLimit[] | 'out', withMoney: boolean): Concern[] {
  // That the state store does not answer is one of the conditions.
  if (all === 'out') return [];
  const near = all.filter(({ use }) => withMoney || rowOf(use.limit).unit !== 'nano_usd');
  const rest = near.length - max_limits;
  const concerns = near.slice(0, max_limits).map(({ account, use: { limit, used } }) => {
    const share = used / limit.max;
    const label = `${percentOf(share)} of ${rowOf(limit).title.toLowerCase()}${limit.model ? ` of ${limit.model}` : ''}`;
    return {
      what: html`${accountLink(account)} ${stateMark({ label, tone: share < 1 ? 'warn' : 'bad' })}`,
      action: link('limits', { account }, 'Change its limits'),
    };
  });
  if (rest <= 0) return concerns;
  const what = `${countOf(rest, 'further limit')} of which 80 % are used.`;
  return [...concerns, { what, action: link('accounts', {}, 'Accounts') }];
}
