import { documentOf } from './document.ts';
import { type Html, html } from './html.ts';

/** Page that says what went wrong and how to proceed. */
export function errorPage(status: number, message: string, advice: string): Html {
  return documentOf(
    message.replace(/\.$/, ''),
    html`<body class="alone">
<main>
<p class="muted">Error ${status}</p>
<h1>${message}</h1>
${advice && html`<p>${advice}</p>`}
<p><a href=".">To the dashboard</a></p>
</main>
</body>`,
  );
}
