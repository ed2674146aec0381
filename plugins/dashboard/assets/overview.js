import { drawCharts } from './charts.js';
import { follow } from './live-stream.js';
import { update } from './update.js';

/** Keeps the overview up to date while it is looked at. */
follow(() => `overview-live${location.search}`, {
  onPart(name, html) {
    const part = document.querySelector(`[data-part="${name}"]`);
    if (!part) return;
    update(part, html);
    drawCharts(part);
  },
});
