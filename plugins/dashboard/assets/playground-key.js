const name = 'sluice-playground-key';

/**
 * The key that was used last in this tab, and only under the session of the dashboard in which it was: what is its own stands beside it. The
 * browser forgets it with the tab, and the sign-in page forgets it earlier.
 */
export function keptKey(form_token) {
  const [session, key] = JSON.parse(sessionStorage.getItem(name) ?? '[]');
  if (session === sessionOf(form_token)) return key;
  forgetKey();
  return undefined;
}

export function keepKey(form_token, key) {
  sessionStorage.setItem(name, JSON.stringify([sessionOf(form_token), key]));
}

/** What the form tokens of a session have in common: each is a random mask, and what it hides. */
function sessionOf(form_token) {
  const bytes = atob(form_token.replaceAll('-', '+').replaceAll('_', '/'));
  const half = bytes.length / 2;
  return Array.from({ length: half }, (_, at) => bytes.charCodeAt(at) ^ bytes.charCodeAt(half + at)).join(
    '.',
  );
}

export function forgetKey() {
  sessionStorage.removeItem(name);
}
