/** Time after which a stream that was refused is asked for again. One that breaks off the browser opens again by itself. */
const again_ms = 5000;

/**
 * Follows the stream at `address()` while the page is looked at: browsers open only six connections to a host. `onEvent` gets what each
 * event says, `onState` whether the stream works; `isWanted` says whether it is to be open at all.
 */
export function follow(address, { isWanted = () => true, onEvent, onState }) {
  let source;
  let waiting;
  /** True once a form takes the reader away: after a sign-out the stream would be refused. */
  let isLeaving = false;

  function open() {
    close();
    if (document.hidden || isLeaving || !isWanted()) return;
    source = new EventSource(address());
    source.onmessage = ({ data }) => {
      onState(true);
      onEvent(JSON.parse(data));
    };
    source.addEventListener('trouble', () => onState(false));
    source.addEventListener('signed-out', () => location.reload());
    source.onerror = () => {
      onState(false);
      if (source.readyState === EventSource.CLOSED) waiting = setTimeout(check, again_ms);
    };
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
  return { open, close };
}
