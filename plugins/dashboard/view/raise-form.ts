import { isDeepStrictEqual } from 'node:util';
import {
  calendarPeriods,
  fieldsOfRule,
  isMoneyLimit,
  type Limit,
  type LimitRule,
  limitNames,
  limitTable,
} from '../../../src/plugin.ts';
import type { Use } from '../account-view.ts';
import type { PageRequest } from '../page-request.ts';
import { type RefusedForm, refusedField } from './edited-fields.ts';
import { minuteOf } from './format.ts';
import { type Html, html } from './html.ts';
import { exactTime } from './key-fields.ts';
import { type Limits, typedAmount } from './limit-fields.ts';
import { optionsOf } from './search-form.ts';
import { postForm } from './shell.ts';
import { zoneName } from './time-zone.ts';

const at_a_time = 'at';

/** Whether a form was sent for this limit. */
export const isOf = (form: URLSearchParams, { name, model = '' }: Pick<Limit, 'name' | 'model'>): boolean =>
  form.get('limit') === name && (form.get('model') ?? '') === model;

/** A form about one limit, which it names. */
export const limitForm = (request: PageRequest, action: string, { limit }: Use, fields: Html): Html =>
  postForm(
    request,
    action,
    html`<input type="hidden" name="limit" value="${limit.name}">${limit.model !== undefined && html`<input type="hidden" name="model" value="${limit.model}">`}${fields}`,
    'row',
  );

/** The forms that raise a limit until a time, and end that. Days and months end in the zone of the limit, or else in the reader's. */
export function raiseForms(request: PageRequest, action: string, use: Use, refused?: RefusedForm): Html {
  const { limit } = use;
  const sent = refused && isOf(refused.form, limit) ? refused : undefined;
  const now_ms = request.context.clock.epoch_ms();
  const { time_zone = zoneName(), raised_until_ms } = limit;
  const tonight_ms = calendarPeriods('day', time_zone).around(now_ms).end_ms;
  const ends: [string, number][] = [
    ['tonight', tonight_ms],
    ['tomorrow night', calendarPeriods('day', time_zone).around(tonight_ms).end_ms],
    ['the end of the month', calendarPeriods('month', time_zone).around(now_ms).end_ms],
  ];
  const choices = ends.map(([label, ms]): [string, string] => [`${ms}`, `${label}, ${minuteOf(ms)}`]);
  const [to, until] = [refusedField(sent, 'to', ''), refusedField(sent, 'until', `${tonight_ms}`)];
  const fields = html`<label>Raise to <input name="to" value="${to.value}" required size="10" maxlength="40" inputmode="decimal" autocomplete="off" ${to.attributes}></label>${to.fault}
<span class="expiry"><label>until (${zoneName()}) <select name="until" ${until.attributes}>${optionsOf([...choices, [at_a_time, 'an exact time']], until.value)}</select></label>
<label class="exact">Time (${zoneName()}) <input type="datetime-local" name="until_at" value="${sent?.form.get('until_at') ?? ''}"></label></span>${until.fault}
<button name="change" value="raise">Raise</button>`;
  const end = html`<button name="change" value="end-raise">End the raise</button>`;
  return html`${raised_until_ms !== undefined && limitForm(request, action, use, end)}
<details ${sent && html`open`}><summary>Raise…</summary>${limitForm(request, action, use, fields)}</details>`;
}

/** Limits of a plan, as far as they are rules. */
type Rules = Readonly<Record<string, unknown>>;

/** What a form of `raiseForms` makes of limits, or what is wrong with it. Where they have no rule of their own that of `plan` is raised. */
export function raisedLimits(
  { context, form, scope }: Pick<PageRequest, 'context' | 'form' | 'scope'>,
  limits: Limits,
  plan: object = {},
): { readonly set: { readonly limits: Limits } } | { readonly refused: RefusedForm } {
  const refused = (field: string, fault: string) => ({
    refused: { form, fault, faults: new Map([[field, fault]]) },
  });
  const name = limitNames.find(
    known => known === form.get('limit') && (scope.sees.money || !isMoneyLimit(known)),
  );
  const model = form.get('model') ?? undefined;
  const [own, given] = [limits, plan as Rules].map(all =>
    model === undefined ? all : (rulesOf(all.models)[model] ?? {}),
  );
  const rule = name && own![name] === undefined ? given![name] : own![name!];
  if (name === undefined || rule == null) return refused('to', 'This limit is no longer there.');
  const { raised: _, ...plain } = fieldsOfRule(rule as LimitRule);
  if (form.get('change') === 'end-raise') {
    const usual = Object.keys(plain).length === 1 ? plain.limit : plain;
    const rule = isDeepStrictEqual(usual, given![name]) ? undefined : usual;
    return { set: { limits: replaced(limits, { name, model }, rule) } };
  }
  const to = typedAmount(limitTable[name].unit, form.get('to') ?? '');
  if ('fault' in to) return refused('to', to.fault);
  if (Number(to.value) <= Number(plain.limit))
    return refused('to', `It is ${plain.limit} already: raise it above that.`);
  const until = untilOf(form, context.clock.epoch_ms());
  if (typeof until === 'string') return refused('until', until);
  const raised = { limit: to.value, until: new Date(until).toISOString() };
  return { set: { limits: replaced(limits, { name, model }, { ...plain, raised }) } };
}

const rulesOf = (models: unknown): Readonly<Record<string, Rules>> => Object(models);

function untilOf(form: URLSearchParams, now_ms: number): number | string {
  const chosen = form.get('until') ?? '';
  if (chosen === at_a_time) return exactTime(form.get('until_at') ?? '', now_ms);
  return /^\d{13}$/.test(chosen) && Number(chosen) > now_ms
    ? Number(chosen)
    : 'This time has passed already.';
}

/** Limits with another rule of one; undefined for none. */
function replaced(limits: Limits, { name, model }: Pick<Limit, 'name' | 'model'>, rule: unknown): Limits {
  const withRule = (all: Limits): Limits => {
    const { [name]: _, ...others } = all;
    return rule === undefined ? others : { ...others, [name]: rule };
  };
  if (model === undefined) return withRule(limits);
  const models = rulesOf(limits.models);
  return { ...limits, models: { ...models, [model]: withRule(models[model] ?? {}) } };
}
