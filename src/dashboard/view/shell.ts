import { token_field } from '../access/forms.ts';
import { type Answer, htmlAnswer } from '../answer.ts';
import type { Visit } from '../page-request.ts';
import { type Section, sections } from '../sections.ts';
import { documentOf } from './document.ts';
import { type Html, html, type Part } from './html.ts';

export interface PageParts {
  readonly title: string;
  /** Where in the navigation it belongs. */
  readonly section: Section;
  readonly body: Part;
  /** Beside the title: where the title's thing is found, or what can be done with it. */
  readonly beside?: Part;
  /** Names of files among the assets. */
  readonly scripts?: readonly string[];
  readonly status?: number;
  /** What was wrong with a form that is shown again. */
  readonly fault?: string | undefined;
}

/** A page of the dashboard: navigation, what there is to say after a form, title, body. */
export function pageAnswer(visit: Visit, parts: PageParts): Answer {
  const { title, section, body, beside, scripts = [], status, fault } = parts;
  const { session } = visit;
  const { notice } = session;
  session.notice = undefined;
  const document = documentOf(
    title,
    html`<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<a class="brand" href="."><img src="assets/icon.svg" alt="" width="24" height="24"> sluice</a>
<nav aria-label="Sections">${sections.map(
      ({ page, label }) =>
        html`<a href="${page || '.'}" ${page === section && html`aria-current="page"`}>${label}</a>`,
    )}</nav>
${postForm(visit, 'sign-out', html`<span class="muted who">${session.actor}</span> <button class="quiet">Sign out</button>`, 'sign-out')}
</header>
<main id="content" tabindex="-1">
<div class="title"><h1>${title}</h1>${beside}</div>
${notice && html`<p class="notice good" role="status">${notice}</p>`}
${fault && html`<p class="notice bad" role="alert">${fault}</p>`}
${body}
</main>
</body>`,
    scripts,
  );
  return htmlAnswer(status ?? (fault ? 422 : 200), document);
}

/** A form that this dashboard will take back. `action` is the name of a page, with its query. */
export function postForm(visit: Visit, action: string, fields: Part, style = ''): Html {
  return html`<form method="post" action="${action}" class="${style}">
<input type="hidden" name="${token_field}" value="${visit.form_token}">
${fields}
</form>`;
}
