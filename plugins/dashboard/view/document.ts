import { token_field } from '../access/cookies.ts';
import { newNonce, nonce_field } from '../access/issued-keys.ts';
import { assetFolder } from '../assets.ts';
import { seen_field } from './edited-fields.ts';
import { type Html, html, type Part } from './html.ts';

/** A whole HTML document. `root` leads from its address to the start page: every other page is one level deep and needs none. */
export function documentOf(title: string, body: Html, head: Part = '', root = ''): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${title} · sluice</title>
<link rel="icon" href="${root}${assetFolder()}/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="${root}${assetFolder()}/style.css">
${head}</head>
${body}
</html>
`;
}

/** A document without navigation, for those who are not signed in. */
export const aloneDocument = (title: string, body: Html, head?: Part, root?: string): Html =>
  documentOf(title, html`<body class="alone">\n<main>\n${body}\n</main>\n</body>`, head, root);

/** Loads a script of a page one level deep. */
export const scriptOf = (name: string): Html =>
  html`<script type="module" src="${assetFolder()}/${name}"></script>\n`;

/** Heads the pages of those who are not signed in. */
export const brandOf = (size = 28): Html =>
  html`<img src="${assetFolder()}/icon.svg" alt="" width="${size}" height="${size}"> sluice`;

/** Says what went wrong and how to proceed. */
export const errorDocument = (status: number, message: string, advice: string, root = ''): Html =>
  aloneDocument(
    message.replace(/\.$/, ''),
    html`<p class="muted">Error ${status}</p>
<h1>${message}</h1>
${advice && html`<p>${advice}</p>`}
<p><a href="${root || '.'}">To the start page</a></p>`,
    '',
    root,
  );

/** Requests itself, or the page `next`, so that the request comes from this site. */
export const reloadDocument = (next?: string): Html =>
  aloneDocument(
    'One moment',
    next === undefined
      ? html`<h1>One moment</h1>\n<p>If nothing happens, load this page again.</p>`
      : html`<h1>Signed in</h1>\n<p>If nothing happens, <a href="${next}">go on</a>.</p>`,
    html`<meta http-equiv="refresh" content="${next === undefined ? '0' : `0; url=${next}`}">\n`,
  );

/** A link to another way to sign in. */
export interface SignInLink {
  readonly label: string;
  readonly href: string;
}

interface SignIn {
  /** CSRF token of the form for name and password; without it there is none. */
  readonly form_token?: string;
  /** The page to go to afterwards. */
  readonly next: string;
  readonly name?: string;
  readonly fault?: string;
  /** Fields of a form that was sent after the session had ended. */
  readonly typed?: string;
  readonly otherWay?: SignInLink | undefined;
}

/** The ways to sign in; after a failure with the error. */
export const signInDocument = ({ otherWay, ...form }: SignIn): Html =>
  aloneDocument(
    'Sign in',
    html`<p class="brand">${brandOf()}</p>
<h1>Sign in</h1>
${form.fault && html`<p class="notice bad" role="alert" id="fault">${form.fault}</p>`}
${otherWay && html`<p class="stack"><a class="button ${form.form_token === undefined && 'primary'}" href="${otherWay.href}">${otherWay.label}</a></p>`}
${otherWay && form.form_token !== undefined && html`<p class="or muted">or with a password</p>`}
${form.form_token !== undefined && passwordForm(form, form.form_token)}`,
    scriptOf('signed-out.js'),
  );

const passwordForm = ({ next, name, fault, typed }: SignIn, form_token: string): Html =>
  html`<form method="post" action="sign-in" class="stack">
${tokenInput(form_token)}
<input type="hidden" name="next" value="${next}">
${typed && html`<input type="hidden" name="typed" value="${typed}">`}
<label>Name <input name="name" value="${name ?? ''}" autocomplete="username" required ${name ? '' : html`autofocus`}></label>
<label>Password <input name="password" type="password" autocomplete="current-password" required ${fault && html`aria-describedby="fault"`} ${name && html`autofocus`}></label>
<button class="primary">Sign in</button>
</form>`;

const signed_out = {
  title: 'Send the form again?',
  why: 'You were signed out when you sent it, so nothing has been changed.',
};

/** Shows a form that could not be taken, as after its session had ended, to be sent again. */
export const resumeDocument = (
  action: string,
  fields: URLSearchParams,
  form_token: string,
  { title, why, nonce = newNonce() }: { title: string; why: string; nonce?: string } = signed_out,
): Html =>
  aloneDocument(
    title,
    html`<h1>${title}</h1>
<p>${why} This is what you typed:</p>
<dl>${[...fields].filter(([name]) => name !== seen_field).map(([name, value]) => html`<dt>${name.replaceAll('_', ' ')}</dt><dd>${value || '(empty)'}</dd>`)}</dl>
<form method="post" action="${action}" class="row">
${tokenInput(form_token)}
<input type="hidden" name="${nonce_field}" value="${nonce}">
${[...fields].map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<button class="primary">Send it</button> <a class="button" href="${action}">Leave it</a>
</form>`,
  );

/** The hidden field with a form's CSRF token. */
export const tokenInput = (form_token: string): Html =>
  html`<input type="hidden" name="${token_field}" value="${form_token}">`;
