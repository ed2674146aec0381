import { type Html, html } from './html.ts';

/** Page that requests itself again, so that the request comes from this site. */
export function reloadPage(): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0">
<title>sluice</title>
<link rel="icon" href="assets/icon.svg" type="image/svg+xml">
</head>
<body><main><h1>One moment</h1><p>If nothing happens, load this page again.</p></main></body>
</html>
`;
}
