import { token_field } from '../access/forms.ts';
import { documentOf } from './document.ts';
import { type Html, html } from './html.ts';

interface SignIn {
  readonly form_token: string;
  /** The page to go to afterwards. */
  readonly next: string;
  readonly name?: string;
  readonly fault?: string;
}

/** The login form; after a failure with the error. */
export function signInPage({ form_token, next, name, fault }: SignIn): Html {
  return documentOf(
    'Sign in',
    html`<body class="alone">
<main>
<p class="brand"><img src="assets/icon.svg" alt="" width="28" height="28"> sluice</p>
<h1>Sign in</h1>
${fault && html`<p class="notice bad" role="alert" id="fault">${fault}</p>`}
<form method="post" action="sign-in" class="stack">
<input type="hidden" name="${token_field}" value="${form_token}">
<input type="hidden" name="next" value="${next}">
<label>Name <input name="name" value="${name ?? ''}" autocomplete="username" required ${name ? '' : html`autofocus`}></label>
<label>Password <input name="password" type="password" autocomplete="current-password" required ${fault && html`aria-describedby="fault"`} ${name && html`autofocus`}></label>
<button class="primary">Sign in</button>
</form>
</main>
</body>`,
  );
}
