import type { Page } from '../page-request.ts';
import { playgroundParts } from '../pages/playground.ts';
import { playgroundRecordPage, playgroundRunPage } from '../pages/playground-run.ts';
import { html } from '../view/html.ts';
import { allowedModels } from './allowed-models.ts';
import { noModels } from './models.ts';
import { portalPage, portalResponse } from './portal-page.ts';

/** Conversations with the models that the account may use. */
const playgroundPage: Page = portalPage({
  name: 'playground',
  get: async request => {
    const models = await allowedModels(request);
    if (models.length === 0)
      return portalResponse(request, { title: 'Playground', section: 'playground', body: noModels });
    const key_hint = html`None at hand? <a href="keys">Issue one</a>.`;
    const place = { models, key_hint, request_page: 'request?id=' };
    return portalResponse(request, playgroundParts(request, place));
  },
});

/** The playground, and what its script asks. The key that is sent decides what it may do. */
export const playgroundPages: readonly Page[] = [
  playgroundPage,
  portalPage(playgroundRunPage),
  portalPage(playgroundRecordPage),
];
