/** Reloads the newest requests every two seconds while the switch is on and the page is looked at. The filters are those of the address. */
const every_ms = 2000;
const button = document.getElementById('live');
const state = document.getElementById('live-state');
const isOn = () => button?.getAttribute('aria-pressed') === 'true';
/** Aborted as soon as a form takes the reader away: after a sign-out the page would be refused. */
let leaving = new AbortController();
let isAsking = false;

async function ask() {
  const { signal } = leaving;
  if (!isOn() || document.hidden || isAsking || signal.aborted) return;
  isAsking = true;
  try {
    const response = await fetch(location.href, {
      signal: AbortSignal.any([signal, AbortSignal.timeout(10_000)]),
    });
    // The session has ended.
    if (response.redirected) return location.reload();
    if (!response.ok) throw new Error(`status ${response.status}`);
    const text = await response.text();
    if (isOn()) show(new DOMParser().parseFromString(text, 'text/html'));
    say('live');
  } catch {
    if (!signal.aborted) say('no answer; tried again');
  } finally {
    isAsking = false;
  }
}

/** The server has written and escaped it. Nothing is taken away from under the keyboard. */
function show(next) {
  const part = document.getElementById('requests');
  const fresh = next.getElementById('requests');
  const focused = document.activeElement;
  const isInside = part.contains(focused) && !focused.matches('.scroll');
  if (isInside || !fresh || fresh.innerHTML === part.innerHTML) return;
  part.replaceChildren(...fresh.childNodes);
}

/** Said to screen readers only when it changes. */
function say(text) {
  const shown = isOn() ? text : '';
  if (state.textContent !== shown) state.textContent = shown;
}

function turn(on) {
  button.setAttribute('aria-pressed', String(on));
  const address = new URL(location.href);
  if (on) address.searchParams.set('live', 'yes');
  else address.searchParams.delete('live');
  history.replaceState(null, '', address);
  // Other filters leave it on.
  document.getElementById('keep-live').disabled = !on;
  say('live');
  ask();
}

if (button) {
  button.hidden = false;
  button.addEventListener('click', () => turn(!isOn()));
  document.addEventListener('submit', () => leaving.abort());
  // A page that the browser kept is shown again when the reader goes back.
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted) leaving = new AbortController();
  });
  document.addEventListener('visibilitychange', ask);
  setInterval(ask, every_ms);
  if (new URLSearchParams(location.search).get('live') === 'yes') turn(true);
}
