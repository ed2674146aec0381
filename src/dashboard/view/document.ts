import { type Html, html } from './html.ts';

/** A whole HTML document. `scripts` are names of files among the assets. */
export function documentOf(title: string, body: Html, scripts: readonly string[] = []): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${title} · sluice</title>
<link rel="icon" href="assets/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="assets/style.css">
${scripts.map(name => html`<script type="module" src="assets/${name}"></script>\n`)}</head>
${body}
</html>
`;
}
