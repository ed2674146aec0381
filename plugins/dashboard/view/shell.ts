import { type PageRequest, takeNotice } from '../page-request.ts';
import { htmlResponse, type PageResponse } from '../page-response.ts';
import { brandOf, documentOf, scriptOf, tokenInput } from './document.ts';
import { timeOf } from './format.ts';
import { type Html, html, type Part } from './html.ts';
import { anything, searchForm } from './search-form.ts';
import { zoneName } from './time-zone.ts';

/** What a page has beside the shell. */
export interface PageParts {
  readonly title: string;
  /** The section of the navigation that it belongs to. */
  readonly section: string;
  readonly body: Part;
  /** Shown beside the title: where the object is found, or actions on it. */
  readonly beside?: Part;
  /** Names of files among the assets. */
  readonly scripts?: readonly string[];
  readonly status?: number | undefined;
  /** Error of a form that is shown again. */
  readonly fault?: string | undefined;
}

/** A page of the dashboard: navigation, notice after a form, title, body. */
export function pageResponse(request: PageRequest, parts: PageParts): PageResponse {
  const { title, section, body, beside, scripts = [], status, fault } = parts;
  const { session, site } = request;
  const notice = takeNotice(request);
  const sections = site.sections.filter(({ readers }) => readers?.includes(session.role) ?? true);
  const document = documentOf(
    title,
    html`<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<a class="brand" href=".">${brandOf(24)}${site.title && html` <span class="muted">${site.title}</span>`}</a>
<nav aria-label="Sections">${sections.map(
      ({ page, label }) =>
        html`<a href="${page || '.'}" ${page === section && html`aria-current="page"`}>${label}</a>`,
    )}</nav>
${searchForm(request, anything, html`<input type="search" name="find" placeholder="Find id or key" aria-label="Find" maxlength="300" autocomplete="off" spellcheck="false">`, { style: 'find', label: 'Anything' })}
${
  request.canSignOut
    ? postForm(
        request,
        'sign-out',
        html`${whoOf(request)} <button class="quiet">Sign out</button>`,
        'sign-out',
      )
    : html`<div class="sign-out">${whoOf(request)}</div>`
}
</header>
<main id="content" tabindex="-1">
<div class="title"><h1>${title}</h1>${beside}</div>
${notice && html`<p class="notice good" role="status">${notice}</p>`}
${fault && html`<p class="notice bad" role="alert">${fault}</p>`}
${disabledNotice(request)}
${body}
</main>
<footer class="muted">All times are in ${zoneName()}. <a href="time-zone">Change</a></footer>
</body>`,
    scripts.map(scriptOf),
  );
  return htmlResponse(status ?? (fault ? 422 : 200), document);
}

const disabledNotice = ({ scope: { account } }: PageRequest): Part =>
  typeof account?.disabled_ms === 'number' &&
  html`<p class="notice bad">Your account is disabled since ${timeOf(account.disabled_ms)}: its requests are answered 403, and nothing can be changed.</p>`;

/** Who is signed in, and as what. */
function whoOf({ session, site }: PageRequest): Html {
  const { actor, role, account } = session;
  const name = html`${actor}${role !== 'admin' && account !== actor && ` · ${account ?? role}`}`;
  if (site.profile === undefined) return html`<span class="muted who">${name}</span>`;
  return html`<a class="who" href="${site.profile}" title="Your sign-in">${name}</a>`;
}

/** A form with a valid CSRF token. `action` is the name of a page, with its query. */
export function postForm(request: PageRequest, action: string, fields: Part, style = ''): Html {
  return html`<form method="post" action="${action}" class="${style}">
${tokenInput(request.form_token)}
${fields}
</form>`;
}

/** A part of a page; `name` is unique on the page. */
export const panel = (name: string, title: string, body: Part): Html =>
  html`<section class="panel" aria-labelledby="${name}"><h2 id="${name}">${title}</h2>${body}</section>`;

/** A part of a page that is folded until it is needed. */
export const foldedPanel = (name: string, title: string, body: Part, isOpen = false): Html =>
  html`<details class="panel" id="${name}" ${isOpen && html`open`}><summary>${title}</summary>\n${body}</details>`;

/** Warning on pages that create records, if records are in memory only. */
export const inMemoryNotice = ({ context, scope }: PageRequest): Part =>
  scope.sees.internals &&
  context.records.isMemory &&
  html`<p class="notice warn">Records are in memory: changes made here are lost on exit. Set <code>stores.records</code> to a SQLite file or a Postgres database to keep them.</p>`;

/** One figure of a list of them, with its change since before and what else there is to say of it. */
export const figure = (title: string, value: Part, more: Part, change?: string): Html =>
  html`<div class="figure"><dt>${title}</dt><dd><strong>${value}</strong> ${change !== undefined && html`<span class="change">${change}</span> `}<span class="muted">${more}</span></dd></div>`;
