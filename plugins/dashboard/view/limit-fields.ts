import type { z } from 'zod';
import {
  amountOfRule,
  fieldsOfRule,
  isMoneyLimit,
  issuesOf,
  keyLimitsSchema,
  type LimitName,
  type LimitRule,
  type LimitRuleFields,
  limitNames,
  limitOverridesSchema,
  limitTable,
  type Plan,
  timeZoneName,
} from '../../../src/plugin.ts';
import { shownDecimal, type Typed, typedCount, typedDollars } from '../typed-number.ts';
import type { FieldTexts, RefusedForm } from './edited-fields.ts';
import { type Html, html, type Part } from './html.ts';
import { type Choices, listOf, optionsOf } from './search-form.ts';
import { type Column, names, numbers, tableOf } from './table.ts';

/** Limits as they are stored. */
export type Limits = Readonly<Record<string, unknown>>;

/** What is typed for no limit. */
const lifted = 'none';

type ReadLimits = { readonly limits: Limits } | Pick<RefusedForm, 'faults'>;

/** The time zone of those that name none. */
const zone_of_all = 'time_zone';
const soft = { soft: true };
/** What may happen at a limit, by what it counts; the first is usual, and not stored. */
const atLimit: Readonly<Record<string, Readonly<Record<string, Partial<LimitRuleFields>>>>> = {
  requests: { refuses: {}, soft },
  leases: { refuses: {}, soft },
  tokens: { estimate: {}, hard: { hard: true }, soft },
  nano_usd: { hard: {}, estimate: { hard: false }, soft },
};
const waysAtLimit: Readonly<Record<string, string>> = {
  refuses: 'refuses',
  hard: 'refuses what might not fit',
  estimate: 'refuses by an estimate',
  soft: 'counts and tells only',
};
const weekdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];
/** Days with which the weeks and months of a limit may begin; the first is usual. */
const firstDays: Readonly<Record<string, readonly string[]>> = {
  week: weekdays,
  month: Array.from({ length: 28 }, (_, at) => `${at + 1}`),
};

/** The limits that have fields: all, or for people who see no money those that are not in dollars. */
const fieldNames = (seesMoney: boolean): readonly LimitName[] =>
  seesMoney ? limitNames : limitNames.filter(name => !isMoneyLimit(name));

/** The limits as the texts of their fields: of one that is not set how that of the plan counts. */
export const limitTexts = (limits: Limits, seesMoney: boolean, plan: Plan = {}): FieldTexts => ({
  [zone_of_all]: String(limits[zone_of_all] ?? ''),
  ...Object.assign({}, ...fieldNames(seesMoney).map(name => partTexts(name, limits[name], plan[name]))),
});

function partTexts(name: LimitName, rule: unknown, ofPlan: unknown): FieldTexts {
  const { limit } = partsOf(rule);
  const { hard, soft, time_zone = '', start_day } = partsOf(rule === undefined ? ofPlan : rule);
  const { unit, window } = limitTable[name];
  const [usual] = Object.keys(atLimit[unit]!);
  const days = firstDays[window];
  return {
    [name]: rule === null ? lifted : limit === undefined ? '' : shownDecimal(limit),
    [`${name}.at_limit`]: soft ? 'soft' : hard === undefined ? usual! : hard ? 'hard' : 'estimate',
    ...(isZoned(window) && { [`${name}.time_zone`]: time_zone }),
    ...(days && { [`${name}.start_day`]: String(start_day ?? days[0]) }),
  };
}

const isZoned = (window: string): boolean => window === 'day' || window in firstDays;

const partsOf = (rule: unknown): Partial<LimitRuleFields> =>
  rule == null ? {} : fieldsOfRule(rule as LimitRule);

/** Reads the overrides of an account from a form. What has no field, such as limits on single models, stays as in `before`. */
export const overridesFrom = (
  form: URLSearchParams,
  before: Limits,
  seesMoney: boolean,
  plan: Plan = {},
): ReadLimits => limitsFrom(limitOverridesSchema, form, { before, plan }, fieldNames(seesMoney));

/** The same of the limits of a key, which has none to lift. */
export function keyLimitsFrom(form: URLSearchParams, before: Limits, seesMoney: boolean): ReadLimits {
  return limitsFrom(keyLimitsSchema, form, { before, plan: {} }, fieldNames(seesMoney));
}

function limitsFrom(
  schema: z.ZodType,
  form: URLSearchParams,
  { before, plan }: { readonly before: Limits; readonly plan: Plan },
  fields: readonly LimitName[],
): ReadLimits {
  const faults = new Map<string, string>();
  const limits: Record<string, unknown> = { ...before };
  const zone = form.get(zone_of_all)?.trim();
  if (zone !== undefined) limits[zone_of_all] = zoneOf(zone, zone_of_all, faults);
  for (const name of fields)
    limits[name] = ruleFrom(form, { name, before: before[name], ofPlan: plan[name] }, faults);
  const read = Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined));
  const parsed = schema.safeParse(read);
  for (const { path, message } of parsed.success ? [] : issuesOf(parsed.error, schema, read)) {
    const [name = ''] = path.map(String);
    const field = name === 'models' ? '' : name;
    if (!faults.has(field)) faults.set(field, field ? message : `The limits of models: ${message}`);
  }
  return faults.size > 0 ? { faults } : { limits: read };
}

/** The rule that the fields of a limit say: what of them was not edited is as it was, or as in the plan. Undefined for none. */
function ruleFrom(
  form: URLSearchParams,
  { name, before, ofPlan }: { readonly name: LimitName; readonly before: unknown; readonly ofPlan: unknown },
  faults: Map<string, string>,
): LimitRule | null | undefined {
  const texts = partTexts(name, before, ofPlan);
  const sent = (field: string): string => form.get(field)?.trim() ?? texts[field] ?? '';
  const edited = (part: string): string | undefined => {
    const text = sent(`${name}.${part}`);
    return text === (texts[`${name}.${part}`] ?? '') ? undefined : text;
  };
  const [way, zone, start] = ['at_limit', 'time_zone', 'start_day'].map(edited);
  const typed = sent(name);
  if (typed === '' || typed.toLowerCase() === lifted) {
    if (way ?? zone ?? start) faults.set(name, 'Type the amount as well.');
    return typed === '' ? undefined : null;
  }
  const isSame = typed === texts[name];
  if (isSame && way === undefined && zone === undefined && start === undefined) return before as LimitRule;
  const { raised: _, ...planned } = partsOf(ofPlan);
  const { limit: amount, hard, soft, ...parts } = before === undefined ? planned : partsOf(before);
  const { unit, window } = limitTable[name];
  const read = isSame ? { value: amount! } : typedAmount(unit, typed);
  if ('fault' in read) faults.set(name, read.fault);
  const rule = {
    limit: 'value' in read ? read.value : 1,
    ...(way === undefined ? { hard, soft } : atLimit[unit]![way]),
    ...parts,
    ...(zone !== undefined && { time_zone: zoneOf(zone, `${name}.time_zone`, faults) }),
    ...(start !== undefined && { start_day: window === 'month' ? Number(start) : start }),
  } as LimitRuleFields;
  const set = Object.entries(rule).filter(([, value]) => value !== undefined);
  return set.length === 1 ? rule.limit : (Object.fromEntries(set) as unknown as LimitRuleFields);
}

/** An amount that was typed, in what the limit counts. */
export function typedAmount(unit: string, text: string): Typed<number | string> {
  const read = unit === 'nano_usd' ? typedDollars(text) : typedCount(text);
  // A number where it reads the same, so that amounts of money keep all digits.
  return 'value' in read && String(Number(read.value)) === read.value ? { value: Number(read.value) } : read;
}

function zoneOf(zone: string, field: string, faults: Map<string, string>): string | undefined {
  if (zone === '') return undefined;
  if (timeZoneName(zone) !== undefined) return zone;
  faults.set(field, 'There is no such time zone: choose one such as Europe/Berlin.');
  return undefined;
}

interface LimitFields {
  /** Begins the ids of the fields. */
  readonly id: string;
  readonly limits: Limits;
  readonly seesMoney: boolean;
  /** What holds where a field is empty. */
  readonly otherwise?: Plan | undefined;
  readonly refused?: RefusedForm | undefined;
}

/** A row of fields for each limit; what holds without it is the placeholder of its amount. */
export function limitFields({ id: prefix, limits, seesMoney, otherwise, refused }: LimitFields): Html {
  const texts = limitTexts(limits, seesMoney, otherwise);
  const shownIn = (field: string) => refused?.form.get(field) ?? texts[field]!;
  const input = (field: string, placeholder: string, more?: Part): Html => {
    const fault = refused?.faults.get(field);
    const id = `${prefix}-${field}`;
    return html`<input id="${id}" name="${field}" value="${shownIn(field)}" placeholder="${placeholder}" size="14" maxlength="40" autocomplete="off" spellcheck="false" ${more} ${fault && html`aria-invalid="true" aria-describedby="${id}-fault"`}>
${fault && html`<span class="fault" id="${id}-fault">${fault}</span>`}`;
  };
  const zones = html`list="${prefix}-zones"`;
  const ofPart = (
    title: string,
    part: string,
    cell: (field: string, row: LimitRow, label: Html) => Part,
  ) => ({
    title,
    cell: (name: LimitName): Part => {
      const [field, row] = [`${name}.${part}`, limitTable[name]];
      return field in texts && cell(field, row, html`aria-label="${title}: ${row.title}"`);
    },
  });
  const select = (field: string, label: Html, choices: Choices) =>
    html`<select name="${field}" ${label}>${optionsOf(choices, shownIn(field))}</select>`;
  const columns: readonly Column<LimitName>[] = [
    names('Limit', name => html`<label for="${prefix}-${name}">${limitTable[name].title}</label>`),
    { title: 'Amount', cell: name => input(name, amountIn(otherwise?.[name])) },
    ofPart('At the limit', 'at_limit', (field, { unit }, label) =>
      select(
        field,
        label,
        Object.keys(atLimit[unit]!).map(way => [way, waysAtLimit[way]!]),
      ),
    ),
    ofPart('Begins on', 'start_day', (field, { window }, label) =>
      select(
        field,
        label,
        firstDays[window]!.map(day => [day, `${day[0]!.toUpperCase()}${day.slice(1)}`]),
      ),
    ),
    ofPart('Time zone', 'time_zone', (field, _, label) => input(field, 'as below', html`${zones} ${label}`)),
  ];
  return html`<div class="limit-fields">${tableOf('Limits', columns, fieldNames(seesMoney))}</div>
<div class="row"><label for="${prefix}-${zone_of_all}">Time zone of days, weeks and months</label> ${input(zone_of_all, otherwise?.time_zone ?? 'UTC', zones)}</div>
${listOf(`${prefix}-zones`, Intl.supportedValuesOf('timeZone'))}`;
}

const amountIn = (ofPlan: LimitRule | undefined): string =>
  ofPlan === undefined ? 'not limited' : shownDecimal(amountOfRule(ofPlan));

type LimitRow = (typeof limitTable)[LimitName];

/** A rule in words. */
export function textOf(value: unknown): string {
  if (value === undefined) return '';
  if (value === null) return lifted;
  const { limit, hard, soft, time_zone, start_day } = partsOf(value);
  const reserves = hard === undefined ? '' : hard ? 'hard' : 'not hard';
  const begins = start_day !== undefined && `from ${start_day}`;
  return [limit, reserves, soft && 'soft', begins, time_zone].filter(Boolean).join(' ');
}

/** Limits of an account that cannot be edited here: those of single models, and with `isAll` the others too. */
export function overridesList(limits: Limits, isAll: boolean): Part {
  const { models = {}, ...overall } = limits;
  const rows = [
    ...(isAll ? linesOf('all', overall) : []),
    ...Object.entries(models as Readonly<Record<string, Limits>>).flatMap(([model, ofModel]) =>
      linesOf(model, ofModel),
    ),
  ];
  return rows.length > 0 && tableOf('Overrides that are changed elsewhere', columns, rows);
}

interface Line {
  readonly model: string;
  readonly title: string;
  readonly value: string;
}

const linesOf = (model: string, limits: Limits): Line[] =>
  Object.entries(limits).map(([name, value]) => ({
    model,
    title: Object.hasOwn(limitTable, name) ? limitTable[name as LimitName].title : name,
    value: value === null ? 'not limited' : textOf(value),
  }));

const columns: readonly Column<Line>[] = [
  names('Models', ({ model }) => model),
  names('Limit', ({ title }) => title),
  numbers('Amount', ({ value }) => value),
];
