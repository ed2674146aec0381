import { type ExtensionContext, providerStates, rowOf } from '../../src/plugin.ts';
import { type NearLimit, nearLimits } from './account-view.ts';
import { max_own_rows, trafficOf } from './traffic-figures.ts';
import { ranges, type TrafficQuestion } from './traffic-range.ts';
import { failureTable } from './view/failure-table.ts';
import { accountLink, linkOf, minuteOf, numberOf } from './view/format.ts';
import { type Html, html } from './view/html.ts';
import { limitBar } from './view/limit-bars.ts';
import { providerTable } from './view/provider-table.ts';
import { emptyState } from './view/table.ts';
import { groupTable, trafficCharts, trafficTiles } from './view/traffic.ts';

/** What the overview shows of the stores, by the names of its parts. */
export type OverviewParts = Readonly<Record<'tiles' | 'traffic' | 'failures' | 'providers' | 'limits', Html>>;

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
  question: TrafficQuestion,
  withMoney: boolean,
): Promise<OverviewParts> {
  const [traffic, providers, limits] = await Promise.all([
    trafficOf(context, question),
    providerStates(context),
    nearLimits(context),
  ]);
  const { range, filters, total, since_ms } = traffic;
  const { since, provider } = question;
  const shown = providers.filter(({ name }) => provider === '' || name === provider);
  const nothing = emptyState(
    `No request ${Object.keys(filters).length > 0 ? 'matches ' : ''}in the last ${ranges[since].title}.`,
    html`Choose a longer time, or look at <a href="${linkOf('requests', { ...filters, since: 'all' })}">all requests</a>.`,
  );
  return {
    tiles: trafficTiles(traffic, withMoney),
    traffic: html`${since_ms !== undefined && cutNotice(since_ms)}${total.requests === 0 ? nothing : html`${trafficCharts(traffic)}${groupTable(traffic)}`}`,
    failures: failureTable(traffic.failures, range, filters),
    providers: providerTable(shown, { since, sums: traffic.attempts }),
    limits: nearLimitList(limits, withMoney),
  };
}

const cutNotice = (since_ms: number): Html =>
  html`<p class="notice warn">Of an account the last ${numberOf(max_own_rows)} requests are added up: here those since ${minuteOf(since_ms)}. Choose a shorter time for all.</p>`;

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
