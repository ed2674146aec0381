import { follow } from './live-stream.js';
import { update } from './update.js';

/** Shows new requests while the switch is on. The filters are those of the address. */
const button = document.getElementById('live');
const isOn = () => button?.getAttribute('aria-pressed') === 'true';
let stream;

function turn(on) {
  button.setAttribute('aria-pressed', String(on));
  const address = new URL(location.href);
  if (on) address.searchParams.set('live', 'yes');
  else address.searchParams.delete('live');
  history.replaceState(null, '', address);
  // Other filters leave it on.
  document.getElementById('keep-live').disabled = !on;
  if (!on) stream?.close();
  else if (stream) stream.open();
  else
    stream = follow(() => `requests-live${location.search}`, {
      isWanted: isOn,
      onPart: (_, html) => update(document.getElementById('requests'), html),
    });
}

if (button) {
  button.hidden = false;
  button.addEventListener('click', () => turn(!isOn()));
  if (new URLSearchParams(location.search).get('live') === 'yes') turn(true);
}
