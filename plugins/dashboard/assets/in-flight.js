import { follow } from './live-stream.js';
import { update } from './update.js';

/** Keeps what runs up to date; while the pointer is on it, no row moves from under a click. */
const list = document.getElementById('in-flight');
let latest;

function show() {
  if (latest !== undefined) update(list, latest);
  latest = undefined;
}

follow(() => `in-flight-live${location.search}`, {
  onPart(_, html) {
    latest = html;
    if (!list.matches(':hover')) show();
  },
});
list.addEventListener('pointerleave', show);
