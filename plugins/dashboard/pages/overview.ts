import { no_model as none, trafficSplits } from '../../../src/plugin.ts';
import { liveFigures } from '../live-figures.ts';
import { type OverviewParts, overviewParts } from '../overview-parts.ts';
import type { Page, PageRequest } from '../page-request.ts';
import { overviewLink, ranges, type TrafficQuestion, trafficQuestionOf } from '../traffic-range.ts';
import { type Html, html } from '../view/html.ts';
import { choiceField, listOf, searchForm, textField } from '../view/search-form.ts';
import { pageResponse, panel } from '../view/shell.ts';
import { splitTitles } from '../view/traffic.ts';

/** What happens now and what has happened in a range of time, kept up to date by its script. */
export const overviewPage: Page = {
  name: '',
  get: async request => {
    const question = trafficQuestionOf(request.query);
    const parts = await partsFor(request, question);
    const { in_flight } = await request.context.server.all();
    const { title } = ranges[question.since];
    const part = (name: keyof OverviewParts) => html`<div data-part="${name}">${parts[name]}</div>`;
    return pageResponse(request, {
      title: 'Overview',
      section: '',
      scripts: ['overview.js'],
      body: html`${filterForm(request, question)}
<section class="panel" aria-labelledby="traffic">
<div class="head"><h2 id="traffic">Last ${title}</h2>${choices(question)}</div>
${part('tiles')}
${part('traffic')}
<p class="muted">Of all instances. Every bar, point and number links to its requests.${question.account && ' Of requests that were refused at once, only a sample is counted for a single account.'}</p>
<p class="muted">This instance now: <span data-figure="in-flight">${in_flight}</span> in flight, <span data-figure="requests">–</span> requests, <span data-figure="failures">–</span> failures and <span data-figure="tokens">–</span> tokens per second <span id="live-state" role="status"></span></p>
</section>
${panel('failures', 'Why requests ended with an error', part('failures'))}
${panel('providers', 'Providers', part('providers'))}
${panel('limits', 'Limits near exhaustion', part('limits'))}`,
    });
  },
};

/** What narrows every figure of the page; the time and the split stay. */
function filterForm(request: PageRequest, { account, model, provider, since, by }: TrafficQuestion): Html {
  const { catalog, providers } = request.context;
  const choose = (title: string, name: string, names: readonly string[], chosen: string) =>
    choiceField(
      title,
      name,
      [
        ['', 'any'],
        ...[...new Set([...names, none, chosen])].filter(Boolean).map((one): [string, string] => [one, one]),
      ],
      chosen,
    );
  const fields = html`${choose(
    'Provider',
    'provider',
    providers.map(({ name }) => name),
    provider,
  )}
${textField('Model', { name: 'model', value: model, placeholder: 'any', list: 'models' })}
${textField('Account', { name: 'account', value: account, placeholder: 'any' })}
<input type="hidden" name="since" value="${since}"><input type="hidden" name="by" value="${by}">
<button class="primary">Show</button>
${(account || model || provider) && html`<a href="${overviewLink({ since, by, account: '', model: '', provider: '' })}">All traffic</a>`}
${listOf('models', [...catalog.models.map(({ id }) => id), none])}`;
  return searchForm(request, '.', fields, { label: 'Filter traffic' });
}

const partsFor = (request: PageRequest, question: TrafficQuestion): Promise<OverviewParts> =>
  overviewParts(request.context, question, request.scope.sees.money);

/** Pause between the figures of this instance; what needs the stores comes every third time. */
const every_ms = 2000;
const parts_every = 3;

/** The stream of the overview's script: the counters of this instance, and the parts that have changed as HTML. */
export const overviewLivePage: Page = {
  name: 'overview-live',
  streams: true,
  get: request => {
    const { context, query, services } = request;
    const question = trafficQuestionOf(query);
    const sent = new Map<string, { readonly text: string; readonly at_ms: number }>();
    const isNew = (name: string, text: string): boolean => {
      const at_ms = context.clock.elapsed_ms();
      const last = sent.get(name);
      // Pictures of long times hardly change, and are large.
      const isEarly = name === 'traffic' && last && at_ms - last.at_ms < ranges[question.since].point_ms / 10;
      if (isEarly || last?.text === text) return false;
      sent.set(name, { text, at_ms });
      return true;
    };
    let asked = 0;
    return services.live.serve(request, {
      every_ms,
      async next() {
        const { server } = context;
        const [figures, { in_flight }] = await Promise.all([
          server.registry().then(liveFigures),
          server.all(),
        ]);
        const parts: Partial<OverviewParts> =
          asked++ % parts_every === 0 ? await partsFor(request, question) : {};
        const changed = Object.entries(parts).filter(([name, { text }]) => isNew(name, text));
        return {
          at_ms: context.clock.elapsed_ms(),
          in_flight,
          ...figures,
          html: Object.fromEntries(changed.map(([name, { text }]) => [name, text])),
        };
      },
    });
  },
};

/** Links to the other ranges, splits and forms. */
function choices(question: TrafficQuestion): Html {
  const choice = (title: string, isChosen: boolean, link: string) =>
    html`<a href="${link}" ${isChosen && html`aria-current="true"`}>${title}</a>`;
  const spans = Object.entries(ranges) as [TrafficQuestion['since'], { readonly short: string }][];
  const { since, by } = question;
  return html`<nav class="segments" aria-label="Time">${spans.map(([name, { short }]) => choice(short, name === since, overviewLink({ ...question, since: name })))}</nav>
<nav class="segments" aria-label="Split by">${trafficSplits.map(name => choice(splitTitles[name], name === by, overviewLink({ ...question, by: name })))}</nav>`;
}
