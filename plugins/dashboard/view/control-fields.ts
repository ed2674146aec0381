import {
  type ControlOptions,
  day_ms,
  hour_ms,
  type ListedProvider,
  max_reason,
  type ProviderControl,
} from '../../../src/plugin.ts';
import { durationOf, minuteOf } from './format.ts';
import { type Html, html } from './html.ts';
import { exactTime } from './key-fields.ts';
import { zoneName } from './time-zone.ts';

/** Ends that forms offer, beside an exact time. */
const ends = new Map<string, number | null>([
  ['when it is changed', null],
  ...[hour_ms, 4 * hour_ms, day_ms, 7 * day_ms].map((ms): [string, number] => [`in ${durationOf(ms)}`, ms]),
]);
const at_a_time = 'at an exact time';

/** The end that forms set which offer none: it ends by itself if it is forgotten. */
export const endsSoon = { value: `in ${durationOf(hour_ms)}`, label: `for ${durationOf(hour_ms)}` };

/** By which two who change a provider at once notice each other. */
export const seenOf = ({ control }: Pick<ListedProvider, 'control'>) => ({
  control: control ? `${control.at_ms} ${control.actor}` : '',
});

/** What operators have set of a provider, in words. */
export function controlText(control: ProviderControl): string {
  return `${controlName(control)}${endText(control)}`;
}

export function controlName({ state, weight }: ProviderControl): string {
  if (state === 'paused') return 'paused by operators';
  return state === 'draining' || weight === 0 ? 'drained by operators' : `weight ${weight}`;
}

export const endText = ({ until_ms }: ProviderControl): string =>
  until_ms === null ? '' : ` until ${minuteOf(until_ms)}`;

/** Fields of the weight, end and reason, with what was sent in a form that was refused. */
export function controlFields(sent: URLSearchParams): Html {
  const chosen = sent.get('end');
  const option = (label: string) => html`<option ${label === chosen && html`selected`}>${label}</option>\n`;
  return html`<div class="row"><span class="expiry"><label>Until <select name="end">${[...ends.keys(), at_a_time].map(option)}</select></label>
<label class="exact">Time (${zoneName()}) <input type="datetime-local" name="end_at" value="${sent.get('end_at') ?? ''}"></label></span>
<label>Reason <input name="reason" value="${sent.get('reason') ?? ''}" maxlength="${max_reason}" autocomplete="off"></label></div>
<div class="row"><button name="change" value="pause">Pause</button> <button name="change" value="drain">Drain</button>
<label>Weight <input name="weight" value="${sent.get('weight') ?? ''}" inputmode="decimal" size="6" autocomplete="off"></label> <button name="change" value="weight">Set weight</button></div>`;
}

/** Reads the end and the reason, or what is wrong with the end. */
export function readControlFields(
  form: URLSearchParams,
  now_ms: number,
): Pick<ControlOptions, 'until_ms' | 'reason'> | string {
  const chosen = form.get('end') ?? '';
  const reason = (form.get('reason') ?? '').trim();
  if (chosen === at_a_time) {
    const until_ms = exactTime(form.get('end_at') ?? '', now_ms);
    return typeof until_ms === 'string' ? until_ms : { until_ms, reason };
  }
  const lasts_ms = ends.get(chosen);
  if (lasts_ms === undefined) return `“${chosen}” is no end.`;
  return { until_ms: lasts_ms === null ? null : now_ms + lasts_ms, reason };
}
