const name = 'sluice-playground-key';

/**
 * The key that was used last in this tab, and only under the session of the dashboard in which it was: its form token stands beside it. The
 * browser forgets it with the tab, and the sign-in page forgets it earlier.
 */
export function keptKey(form_token) {
  const [token, key] = JSON.parse(sessionStorage.getItem(name) ?? '[]');
  if (token === form_token) return key;
  forgetKey();
  return undefined;
}

export function keepKey(form_token, key) {
  sessionStorage.setItem(name, JSON.stringify([form_token, key]));
}

export function forgetKey() {
  sessionStorage.removeItem(name);
}
