import type { PageRequest } from '../page-request.ts';
import { type PresetName, presets } from '../usage-question.ts';
import { type Html, html, type Part } from '../view/html.ts';
import { dayField, listOf, searchForm, textField } from '../view/search-form.ts';
import { measures } from './usage-chart.ts';
import { chartGroups, fieldsOf, isOffered, measuresFor, type UsageView, viewLink } from './usage-view.ts';

/** What is shown: times by name, days, model and, unless it is the reader's own, account; a provider and a key as what can be taken off again. */
export function usageFilters(
  request: PageRequest,
  view: UsageView,
  names: ReadonlyMap<string, string>,
): Html {
  const { catalog, clock } = request.context;
  const { from, to, account, model, provider, key } = fieldsOf(view);
  const times = Object.entries(presets).map(([name, { title, days }]) => {
    const [from_day, to_day] = days(clock.epoch_ms());
    const question = { ...view.question, from_day, to_day };
    return choice(viewLink(view, { preset: name as PresetName, question }), title, name === view.preset);
  });
  return html`<section class="panel" aria-label="What is shown">
<nav class="choices" aria-label="Time">${times}</nav>
${searchForm(
  request,
  'usage',
  html`${dayField('From', from)}${dayField('To', to)}
${!view.scope.account && textField('Account', { name: 'account', value: account, placeholder: 'all' })}
${textField('Model', { name: 'model', value: model, placeholder: 'all', list: 'models' })}
${listOf(
  'models',
  catalog.models.map(({ id }) => id),
)}
${[
  ['by', view.group],
  ['show', view.measure],
  ['provider', provider],
  ['key', key],
].map(([name, value]) => value && html`<input type="hidden" name="${name}" value="${value}">`)}
<button class="primary">Show</button>`,
  { style: 'row' },
)}
${taken(view, 'provider', provider)}${taken(view, 'key', key && (names.get(key) ?? key))}
</section>`;
}

/** A filter that has no field, with a link that takes it off. */
const taken = (view: UsageView, name: 'provider' | 'key', value: string | undefined): Part =>
  value !== undefined &&
  html`<p class="filter">${name === 'key' ? 'Key' : 'Provider'} <strong>${value}</strong> <a href="${viewLink(view, { question: { ...view.question, [name]: undefined } })}">Show all ${name}s</a></p>`;

/** What the chart measures, and by what. */
export function chartTabs(view: UsageView): Html {
  const { question, group, measure, scope } = view;
  const shown = measuresFor(scope).map(name =>
    choice(viewLink(view, { measure: name }), measures[name].title, name === measure),
  );
  const groups = chartGroups
    .filter(name => isOffered(name, question, scope))
    .map(name => choice(viewLink(view, { group: name }), `By ${name}`, name === group));
  return html`<div class="tabs"><nav class="choices" aria-label="Measure">${shown}</nav><nav class="choices" aria-label="Group">${groups}</nav></div>`;
}

const choice = (link: string, title: string, isChosen: boolean): Html =>
  html`<a href="${link}" ${isChosen && html`aria-current="true"`}>${title}</a>`;
