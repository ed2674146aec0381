import { drawCharts } from './charts.js';
import { follow } from './live-stream.js';
import { update } from './update.js';

/** Keeps the overview up to date while it is looked at, and draws what its figures were. */

/** Five minutes of them. */
const max_samples = 150;
/** Figures that stand still are of so many samples, so that they do not flicker. */
const calm_samples = 5;

/** A chart that has just begun is not stretched over its whole width. */
const min_steps = 10;

const samples = [];

function show({ html, ...sample }) {
  const last = samples.at(-1);
  // A process that began anew has counted less.
  if (last && (sample.requests < last.requests || sample.at_ms < last.at_ms)) samples.length = 0;
  samples.push(sample);
  if (samples.length > max_samples) samples.shift();
  for (const [name, text] of Object.entries(html)) replace(name, text);
  const steps = samples.slice(1).map((to, at) => [samples[at], to]);
  const rates = of => steps.map(step => rate(step, of));
  const calm = [samples.at(-1 - calm_samples) ?? samples[0], sample];
  if (steps.length > 0) {
    tell('requests', shortened(rate(calm, ({ requests }) => requests)));
    tell('tokens', shortened(rate(calm, ({ tokens }) => tokens)));
  }
  tell('in-flight', String(sample.in_flight));
  const all = samples.length > 1 ? seenBetween(samples[0], sample) : [];
  const seen = all.at(-1)?.count > 0 ? all : sample.first_tokens;
  tell(
    'first-token',
    seen.at(-1)?.count > 0 ? `${seconds(within(seen, 0.5))} · ${seconds(within(seen, 0.99))}` : '–',
  );
  draw('requests', [rates(({ requests }) => requests), rates(({ failures }) => failures)]);
  draw('tokens', [rates(({ tokens }) => tokens)]);
  draw('in-flight', [samples.map(({ in_flight }) => in_flight)]);
  const waits = samples.slice(1).map((to, at) => seenBetween(samples[Math.max(0, at - calm_samples)], to));
  draw('first-token', [waits.map(wait => within(wait, 0.5)), waits.map(wait => within(wait, 0.99))]);
}

const rate = ([from, to], of) =>
  to.at_ms > from.at_ms ? ((of(to) - of(from)) / (to.at_ms - from.at_ms)) * 1000 : 0;

/** The streams that began between two samples, by their bounds. */
function seenBetween(from, to) {
  const before = new Map(from.first_tokens.map(({ within_s, count }) => [within_s, count]));
  return to.first_tokens.map(({ within_s, count }) => ({
    within_s,
    count: count - (before.get(within_s) ?? 0),
  }));
}

/** The time within which a share of them began, in seconds, between the bounds as if they were spread evenly; 0 for none. */
function within(seen, share) {
  const rank = (seen.at(-1)?.count ?? 0) * share;
  if (rank === 0) return 0;
  const at = seen.findIndex(({ count }) => count >= rank);
  const below = seen[at - 1] ?? { within_s: 0, count: 0 };
  const { within_s, count } = seen[at];
  if (within_s === null) return below.within_s;
  return below.within_s + (within_s - below.within_s) * ((rank - below.count) / (count - below.count));
}

const seconds = time_s =>
  time_s < 1 ? `${Math.round(time_s * 1000)}\u00a0ms` : `${time_s.toFixed(1)}\u00a0s`;
const shortened = value => (value >= 100 ? String(Math.round(value)) : value.toFixed(1));

function tell(name, text) {
  document.querySelector(`[data-figure="${name}"]`).textContent = text;
}

function say(text) {
  document.getElementById('live').textContent = text;
}

function replace(name, text) {
  const part = document.querySelector(`[data-part="${name}"]`);
  if (!part) return;
  update(part, text);
  drawCharts(part);
}

/** Lines from left to right since the page was opened, five minutes of them at most. */
function draw(name, series) {
  const chart = document.querySelector(`[data-lines="${name}"]`);
  const highest = Math.max(...series.flat(), Number.MIN_VALUE);
  chart.replaceChildren(
    ...series.map((values, at) => {
      const line = document.createElementNS('http://www.w3.org/2000/svg', 'polyline');
      const x = index => (index / Math.max(values.length - 1, min_steps)) * 100;
      const points = values.map(
        (value, index) => `${x(index).toFixed(2)},${(29 - (value / highest) * 28).toFixed(2)}`,
      );
      line.setAttribute('class', `line-${at + 1}`);
      line.setAttribute('points', points.join(' '));
      return line;
    }),
  );
}

follow(() => `overview-live${location.search}`, {
  onEvent: show,
  onState: works => say(works ? 'live, this instance' : 'no answer; tried again'),
});
