import { dayOf, type ExtensionContext, providerStates, rowOf } from '../../src/plugin.ts';
import { type NearLimit, nearLimits } from './account-view.ts';
import { groupsOf } from './traffic-groups.ts';
import { rangeAt, ranges, type TrafficQuestion } from './traffic-range.ts';
import { failureTable } from './view/failure-table.ts';
import { accountLink, dollars } from './view/format.ts';
import { type Html, html } from './view/html.ts';
import { limitBar } from './view/limit-bars.ts';
import { providerTable } from './view/provider-table.ts';
import { emptyState } from './view/table.ts';
import { groupTable, trafficCharts } from './view/traffic.ts';

/** What the overview shows of the stores, by the names of its parts. */
export type OverviewParts = Readonly<Record<'traffic' | 'failures' | 'providers' | 'limits', Html>> & {
  /** Left out for those who see no money. */
  readonly cost?: Html;
};

/** How long what one reader has asked for is shown to others. */
const shared_ms = 3000;

interface Shared {
  readonly at_ms: number;
  readonly parts: Promise<OverviewParts>;
}

/** Parts by what was asked, for each gateway of this process; as many as there are questions. */
const sharedByContext = new WeakMap<ExtensionContext, Map<string, Shared>>();

/** The parts of the overview, of this moment or of some seconds ago: many readers cost as much as one. */
export function overviewParts(
  context: ExtensionContext,
  question: TrafficQuestion,
  withMoney: boolean,
): Promise<OverviewParts> {
  let known = sharedByContext.get(context);
  if (!known) sharedByContext.set(context, (known = new Map()));
  const key = [...Object.values(question), withMoney].join(' ');
  const now_ms = context.clock.elapsed_ms();
  const shared = known.get(key);
  if (shared && now_ms - shared.at_ms < shared_ms) return shared.parts;
  const parts = readParts(context, question, withMoney);
  known.set(key, { at_ms: now_ms, parts });
  // A failure is not shared.
  parts.catch(() => known.delete(key));
  return parts;
}

async function readParts(
  context: ExtensionContext,
  { since, by }: TrafficQuestion,
  withMoney: boolean,
): Promise<OverviewParts> {
  const { traffic } = context.records.store;
  const range = rangeAt(since, context.clock.epoch_ms());
  const [points, failures, sums, providers, limits, cost] = await Promise.all([
    traffic.points(range, by),
    traffic.failures(range),
    traffic.attempts(range),
    providerStates(context),
    nearLimits(context),
    withMoney ? costToday(context) : undefined,
  ]);
  const shown = { range, split: by, groups: groupsOf(points, range, by) };
  const nothing = emptyState(
    `No request in the last ${ranges[since].title}.`,
    html`Choose a longer time, or look at <a href="requests?since=all">all requests</a>.`,
  );
  return {
    traffic: points.length === 0 ? nothing : html`${trafficCharts(shown)}${groupTable(shown)}`,
    failures: failureTable(failures, range),
    providers: providerTable(context, providers, { since, sums }),
    limits: nearLimitList(limits, withMoney),
    ...(cost && { cost }),
  };
}

async function costToday({ records, clock }: ExtensionContext): Promise<Html> {
  const day = dayOf(clock.epoch_ms());
  const [sum] = await records.store.usage.sum({ from_day: day, to_day: day, by: [] });
  return dollars(sum?.cost_usd ?? '0');
}

function nearLimitList(all: readonly NearLimit[] | 'out', withMoney: boolean): Html {
  if (all === 'out') return html`<p class="notice warn">Unknown: the state store does not answer.</p>`;
  const near = all.filter(({ use }) => withMoney || rowOf(use.limit).unit !== 'nano_usd');
  if (near.length === 0)
    return emptyState(
      'No account has used 80 % of a limit.',
      'Accounts that this instance has served since its start are watched.',
    );
  return html`<ul class="limits">${near.map(
    ({ account, use }) => html`<li>${accountLink(account)}<ul class="limits">${limitBar(use)}</ul></li>\n`,
  )}</ul>`;
}
