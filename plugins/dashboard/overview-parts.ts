import { type ExtensionContext, providerStates } from '../../src/plugin.ts';
import { attention } from './attention.ts';
import { LiveRates } from './live-figures.ts';
import type { PageRequest } from './page-request.ts';
import { SharedReads } from './shared-reads.ts';
import { max_own_rows, type TrafficFigures, trafficOf } from './traffic-figures.ts';
import { ranges, type TrafficQuestion } from './traffic-range.ts';
import { failureTable } from './view/failure-table.ts';
import { linkOf, minuteOf, numberOf } from './view/format.ts';
import { type Html, html } from './view/html.ts';
import { providerTable } from './view/provider-table.ts';
import { emptyState } from './view/table.ts';
import { zoneName } from './view/time-zone.ts';
import { groupTable, trafficCharts, trafficTiles } from './view/traffic.ts';

/** What the overview shows, by the names of its parts. */
type OverviewParts = Readonly<
  Record<'attention' | 'tiles' | 'now' | 'traffic' | 'failures' | 'providers', Html>
>;

/** How old what is shown may be: counters of this instance; states; and figures of a range, of a page that is loaded and of open ones. */
const [now_ms, states_ms, loaded_ms] = [1500, 6000, 3000];
const open_ms = ({ since }: TrafficQuestion): number =>
  Math.min(60_000, Math.max(10_000, ranges[since].point_ms / 10));

const sharedByContext = new WeakMap<
  ExtensionContext,
  { readonly reads: SharedReads; readonly rates: LiveRates }
>();

/** The parts of an overview that is loaded. */
export const loadedParts = ({ context, scope }: PageRequest, question: TrafficQuestion) =>
  overviewParts(context, question, scope.sees.money, loaded_ms);

/** The parts of an overview that is open. */
export const openParts = ({ context, scope }: PageRequest, question: TrafficQuestion) =>
  overviewParts(context, question, scope.sees.money, open_ms(question));

async function overviewParts(
  context: ExtensionContext,
  question: TrafficQuestion,
  withMoney: boolean,
  figures_ms: number,
): Promise<OverviewParts> {
  let shared = sharedByContext.get(context);
  if (!shared)
    sharedByContext.set(
      context,
      (shared = { reads: new SharedReads(context.clock), rates: new LiveRates() }),
    );
  const { reads, rates } = shared;
  const reader = [withMoney, zoneName()].join('\n');
  const asked = [...Object.values(question), reader].join('\n');
  const figures = reads.read(`figures ${asked}`, figures_ms, async () => {
    const traffic = await trafficOf(context, question);
    return { traffic, parts: figureParts(traffic, question, withMoney) };
  });
  const [{ parts }, ...states] = await Promise.all([
    figures,
    reads.read(`attention ${reader}`, Math.min(states_ms, figures_ms), () => attention(context, withMoney)),
    reads.read(`providers ${asked}`, Math.min(states_ms, figures_ms), async () =>
      providersPart(context, question, (await figures).traffic),
    ),
    reads.read('now', now_ms, () => rates.html(context)),
  ]);
  const [concerns, providers, now] = states;
  return { attention: concerns, ...parts, now, providers };
}

function figureParts(traffic: TrafficFigures, { since }: TrafficQuestion, withMoney: boolean) {
  const { range, filters, total, since_ms, failures } = traffic;
  const nothing = emptyState(
    `No request ${Object.keys(filters).length > 0 ? 'matches ' : ''}in the last ${ranges[since].title}.`,
    html`Choose a longer time, or look at <a href="${linkOf('requests', { ...filters, since: 'all' })}">all requests</a>.`,
  );
  return {
    tiles: trafficTiles(traffic, withMoney),
    traffic: html`${since_ms !== undefined && cutNotice(since_ms)}${total.requests === 0 ? nothing : html`${trafficCharts(traffic)}${groupTable(traffic)}`}`,
    failures: failureTable(failures, range, filters),
  };
}

const cutNotice = (since_ms: number): Html =>
  html`<p class="notice warn">Of an account the last ${numberOf(max_own_rows)} requests are added up: here those since ${minuteOf(since_ms)}. Choose a shorter time for all.</p>`;

async function providersPart(
  context: ExtensionContext,
  { since, provider }: TrafficQuestion,
  { attempts }: TrafficFigures,
): Promise<Html> {
  const all = await providerStates(context);
  const shown = all.filter(({ name }) => provider === '' || name === provider);
  return providerTable(shown, { since, sums: attempts });
}
