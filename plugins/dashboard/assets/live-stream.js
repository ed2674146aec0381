/** Time after which a stream that was refused is asked for again. One that breaks off the browser opens again by itself. */
const again_ms = 5000;

/** A stream that ends by itself is back earlier. */
const stale_ms = 6000;

const state = document.getElementById('live-state');

/** Screen readers say it when it changes; what is not up to date fades. */
function tell(text, isStale = false) {
  document.querySelector('main').toggleAttribute('data-stale', isStale);
  if (state.textContent !== text) state.textContent = text;
}

/**
 * Follows the stream at `address()` while the page is looked at: browsers open only six connections to a host. `onPart` gets the
 * HTML of each part that has changed; `isWanted` says whether it is to be open at all. Whether it works is said in the page's element
 * `live-state`.
 */
export function follow(address, { isWanted = () => true, onPart }) {
  let source;
  /** The last event, and the pieces of each part, of which the next ones are made. */
  let last = '';
  const shown = new Map();
  let waiting;
  let doubting;
  /** True once a form takes the reader away: after a sign-out the stream would be refused. */
  let isLeaving = false;

  function open() {
    close();
    if (document.hidden || isLeaving || !isWanted()) return;
    const place = address();
    source = new EventSource(last ? `${place}${place.includes('?') ? '&' : '?'}last-event=${last}` : place);
    source.onopen = () => answers();
    source.onmessage = ({ data, lastEventId }) => {
      answers();
      last = lastEventId;
      for (const [name, changes] of Object.entries(JSON.parse(data))) patch(name, changes);
    };
    source.addEventListener('trouble', doubt);
    source.addEventListener('well', () => answers());
    source.addEventListener('signed-out', () => location.reload());
    source.onerror = () => {
      doubt();
      if (source.readyState === EventSource.CLOSED) waiting = setTimeout(check, again_ms);
    };
  }

  function patch(name, changes) {
    const before = shown.get(name) ?? [];
    const piecesOf = one => (typeof one === 'string' ? [one] : before.slice(one[0], one[0] + one[1]));
    shown.set(name, changes.flatMap(piecesOf));
    onPart(name, shown.get(name).join(''));
  }

  function answers(words = 'live') {
    clearTimeout(doubting);
    doubting = undefined;
    tell(words);
  }

  function doubt() {
    const words = 'The gateway does not answer: this is not up to date. It is asked again.';
    doubting ??= setTimeout(() => tell(words, true), stale_ms);
  }

  function close() {
    clearTimeout(waiting);
    source?.close();
    source = undefined;
  }

  /** An event source does not say why it was refused. */
  async function check() {
    const { status } = await fetch(address(), { method: 'HEAD' }).catch(() => ({ status: 0 }));
    if (status === 401) location.reload();
    else open();
  }

  document.addEventListener('visibilitychange', open);
  document.addEventListener('submit', () => {
    isLeaving = true;
    close();
  });
  addEventListener('pagehide', close);
  // A page that the browser kept is shown again when the reader goes back.
  addEventListener('pageshow', ({ persisted }) => {
    if (!persisted) return;
    isLeaving = false;
    open();
  });
  open();
  return {
    open,
    close() {
      close();
      answers('');
    },
  };
}
