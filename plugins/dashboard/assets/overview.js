import { drawCharts } from './charts.js';
import { follow } from './live-stream.js';
import { update } from './update.js';

/** Keeps the overview up to date while it is looked at. */

/** Figures that stand still are of so many samples, so that they do not flicker. */
const calm_samples = 5;

const samples = [];

function show({ html, ...sample }) {
  const last = samples.at(-1);
  // A process that began anew has counted less.
  if (last && (sample.requests < last.requests || sample.at_ms < last.at_ms)) samples.length = 0;
  samples.push(sample);
  if (samples.length > calm_samples + 1) samples.shift();
  for (const [name, text] of Object.entries(html)) replace(name, text);
  for (const name of ['requests', 'failures', 'tokens'])
    if (samples.length > 1) tell(name, shortened(rate([samples[0], sample], counts => counts[name])));
  tell('in-flight', String(sample.in_flight));
}

const rate = ([from, to], of) =>
  to.at_ms > from.at_ms ? ((of(to) - of(from)) / (to.at_ms - from.at_ms)) * 1000 : 0;

const shortened = value => (value >= 100 ? String(Math.round(value)) : value.toFixed(1));

function tell(name, text) {
  document.querySelector(`[data-figure="${name}"]`).textContent = text;
}

function replace(name, text) {
  const part = document.querySelector(`[data-part="${name}"]`);
  if (!part) return;
  update(part, text);
  drawCharts(part);
}

follow(() => `overview-live${location.search}`, { onEvent: show });
