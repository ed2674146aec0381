import type { Model } from '../../../src/plugin.ts';
import type { Page } from '../page-request.ts';
import { catalogDetails, modelFacts } from '../pages/models.ts';
import { linkOf, muted } from '../view/format.ts';
import { type Html, html } from '../view/html.ts';
import { emptyState } from '../view/table.ts';
import { allowedModels } from './allowed-models.ts';
import { portalPage, portalResponse } from './portal-page.ts';

/** The models that the account may use, with their prices. */
export const modelsPage: Page = portalPage({
  name: 'models',
  get: async request => {
    const models = await allowedModels(request);
    return portalResponse(request, {
      title: 'Models',
      section: 'models',
      beside: muted('Prices in US dollars.'),
      body: models.length === 0 ? noModels : html`${models.map(modelPanel)}`,
    });
  },
});

/** Says that there is none, also where one is asked for. */
export const noModels = html`<section class="panel" aria-label="Models">${emptyState('There is no model that your account may use.', 'Ask those who run this service.')}</section>`;

const modelPanel = (model: Model, at: number): Html =>
  html`<section class="panel" aria-labelledby="model-${at}"><h2 id="model-${at}"><code>${model.id}</code></h2>
<p>${model.name}${model.description && html` <span class="muted">${model.description}</span>`}</p>
${modelFacts(model, true)}
<p class="pager"><a class="button" href="${linkOf('examples', { model: model.id })}" aria-label="Examples of code with ${model.id}">Examples</a>
<a class="button" href="${linkOf('playground', { model: model.id })}" aria-label="${model.id} in the playground">Playground</a></p>
${catalogDetails(model, true)}
</section>`;
