import type { Page } from '../page-request.ts';
import { takeKey } from '../pages/issued.ts';
import { linkOf, timeOf } from '../view/format.ts';
import { html } from '../view/html.ts';
import { ownKey, portalPage, portalResponse } from './portal-page.ts';

/** Shows a newly issued key, once. */
export const issuedPage: Page = portalPage({
  name: 'issued',
  get: async request => {
    const { id, name, expires_ms } = await ownKey(request);
    const key = takeKey(request);
    const back = html`<p><a href="${linkOf('key', { id })}">Limits, expiry and use of this key</a> · <a href="keys">To your keys</a></p>`;
    if (!key)
      return portalResponse(request, {
        title: name || id,
        section: 'keys',
        body: html`<p class="notice warn">A key is shown once, when it is issued, and this one has been. If it was lost, revoke it and issue another.</p>${back}`,
      });
    return portalResponse(request, {
      title: 'Your new key',
      section: 'keys',
      scripts: ['copy.js', 'try-key.js'],
      body: html`<section class="panel" aria-labelledby="key"><h2 id="key">${name || id}</h2>
<p>Copy it now: it cannot be shown again. Only its SHA-256 is kept.</p>
<p><code class="secret" id="secret">${key}</code></p>
<p class="row"><button class="primary" data-copy="secret" hidden>Copy key</button> <a class="button" href="playground" data-try="secret">Try it in the playground</a></p>
<dl><dt>Id</dt><dd><code>${id}</code></dd><dt>Expires</dt><dd>${timeOf(expires_ms)}</dd></dl>
${back}
</section>`,
    });
  },
});
