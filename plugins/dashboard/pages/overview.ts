import { no_model as none, trafficSplits } from '../../../src/plugin.ts';
import { loadedParts, openParts } from '../overview-parts.ts';
import type { Page, PageRequest } from '../page-request.ts';
import { overviewLink, ranges, type TrafficQuestion, trafficQuestionOf } from '../traffic-range.ts';
import { accountField } from '../view/account-field.ts';
import { type Html, html } from '../view/html.ts';
import { listOf, searchForm, textField } from '../view/search-form.ts';
import { pageResponse, panel } from '../view/shell.ts';
import { splitTitles } from '../view/traffic.ts';

/** What happens now and what has happened in a range of time, kept up to date by its script. */
export const overviewPage: Page = {
  name: '',
  get: async request => {
    const question = trafficQuestionOf(request.query);
    const parts = await loadedParts(request, question);
    const { title } = ranges[question.since];
    const part = (name: keyof typeof parts) => html`<div data-part="${name}">${parts[name]}</div>`;
    return pageResponse(request, {
      title: 'Overview',
      section: '',
      scripts: ['overview.js', 'accounts.js'],
      body: html`${part('attention')}
${await filterForm(request, question)}
<section class="panel" aria-labelledby="traffic">
<div class="head"><h2 id="traffic">Last ${title}</h2>${choices(question)}</div>
${part('tiles')}
<p><span data-part="now">${parts.now}</span> <span id="live-state" class="muted" role="status"></span></p>
${part('traffic')}
<p class="muted">Of all instances. Every bar, point and number links to its requests.${question.account && ' Of requests that were refused at once, only a sample is counted for a single account.'}</p>
</section>
${panel('failures', 'Why requests ended with an error', part('failures'))}
${panel('providers', 'Providers', part('providers'))}`,
    });
  },
};

/** What narrows every figure of the page; the time and the split stay. */
async function filterForm(
  request: PageRequest,
  { account, model, provider, since, by }: TrafficQuestion,
): Promise<Html> {
  const { catalog, providers } = request.context;
  const fields = html`${textField('Provider', { name: 'provider', value: provider, placeholder: 'any', list: 'known-providers' })}
${textField('Model', { name: 'model', value: model, placeholder: 'any', list: 'models' })}
${await accountField(request, account, 'any')}
<input type="hidden" name="since" value="${since}"><input type="hidden" name="by" value="${by}">
<button class="primary">Show</button>
${(account || model || provider) && html`<a href="${overviewLink({ since, by, account: '', model: '', provider: '' })}">All traffic</a>`}
${listOf('models', [...catalog.models.map(({ id }) => id), none])}
${listOf('known-providers', [...providers.map(({ name }) => name), none])}`;
  return searchForm(request, '.', fields, { label: 'Filter traffic' });
}

/** Pause between two looks at what has changed. */
const every_ms = 2000;

/** The stream of the overview's script. */
export const overviewLivePage: Page = {
  name: 'overview-live',
  streams: true,
  get: request => {
    const question = trafficQuestionOf(request.query);
    return request.services.live.serve(request, {
      every_ms,
      parts: () => openParts(request, question),
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
