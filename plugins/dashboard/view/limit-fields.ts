import type { z } from 'zod';
import {
  isMoneyLimit,
  issuesOf,
  keyLimitsSchema,
  type LimitName,
  type LimitRule,
  limitNames,
  limitOverridesSchema,
  limitTable,
  type Plan,
} from '../../../src/plugin.ts';
import type { FieldTexts } from './edited-fields.ts';
import { type Html, html, type Part } from './html.ts';
import { type Column, names, numbers, tableOf } from './table.ts';

/** Limits as they are stored. */
export type Limits = Readonly<Record<string, unknown>>;

/** What is typed for no limit. */
const lifted = 'none';

/** The fields as they were sent, and what is wrong with them by their names; `''` for what no field has. */
export interface RefusedLimits {
  readonly form: URLSearchParams;
  readonly faults: ReadonlyMap<string, string>;
}

type ReadLimits = { readonly limits: Limits } | Pick<RefusedLimits, 'faults'>;

/** The limits that have fields: all, or for people who see no money those that are not in dollars. */
const fieldNames = (seesMoney: boolean): readonly LimitName[] =>
  seesMoney ? limitNames : limitNames.filter(name => !isMoneyLimit(name));

/** The limits as the texts of their fields. */
export const limitTexts = (limits: Limits, seesMoney: boolean): FieldTexts =>
  Object.fromEntries(fieldNames(seesMoney).map(name => [name, textOf(limits[name])]));

/** Reads the overrides of an account from a form. What has no field, such as limits on single models, stays as in `before`. */
export const overridesFrom = (form: URLSearchParams, before: Limits, seesMoney: boolean): ReadLimits =>
  checked(limitOverridesSchema, { ...unshown(before, seesMoney), ...typed(form, seesMoney) });

/** The same of the limits of a key, which has none to lift. */
export function keyLimitsFrom(form: URLSearchParams, before: Limits, seesMoney: boolean): ReadLimits {
  const set = Object.entries(typed(form, seesMoney)).filter(([, amount]) => amount !== null);
  return checked(keyLimitsSchema, { ...unshown(before, seesMoney), ...Object.fromEntries(set) });
}

const unshown = (before: Limits, seesMoney: boolean): Limits => {
  const names: readonly string[] = fieldNames(seesMoney);
  return Object.fromEntries(Object.entries(before).filter(([name]) => !names.includes(name)));
};

const typed = (form: URLSearchParams, seesMoney: boolean): Limits =>
  Object.fromEntries(
    fieldNames(seesMoney).flatMap(name => {
      const text = (form.get(name) ?? '').trim();
      return text === '' ? [] : [[name, ruleOf(text)] as const];
    }),
  );

function checked(schema: z.ZodType, limits: Limits): ReadLimits {
  const parsed = schema.safeParse(limits);
  if (parsed.success) return { limits };
  const faults = issuesOf(parsed.error, schema, limits).map(
    ({ path: [name = ''], message }): [string, string] =>
      name === 'models' ? ['', `The limits of models: ${message}`] : [String(name), message],
  );
  return { faults: new Map(faults) };
}

/** What is typed behind an amount to say how it reserves. */
const hardness = { hard: true, 'not hard': false } as const;

/** The rule that was typed, such as `20000`, `5 not hard` or `none`. */
function ruleOf(text: string): LimitRule | null {
  if (text.toLowerCase() === lifted) return null;
  const [, typed = text, how] = /^(.*?)\s+(not hard|hard)$/i.exec(text) ?? [];
  // A number where it reads the same, so that amounts of money keep all digits.
  const limit = String(Number(typed)) === typed ? Number(typed) : typed;
  return how ? { limit, hard: hardness[how.toLowerCase() as keyof typeof hardness] } : limit;
}

interface LimitFields {
  /** Begins the ids of the fields. */
  readonly id: string;
  readonly limits: Limits;
  readonly seesMoney: boolean;
  /** What holds where a field is empty. */
  readonly otherwise?: Plan | undefined;
  readonly refused?: RefusedLimits | undefined;
}

/** One input for each limit; what holds without it is its placeholder. */
export function limitFields({ id: prefix, limits, seesMoney, otherwise, refused }: LimitFields): Html {
  const field = (name: LimitName): Html => {
    const fault = refused?.faults.get(name);
    const value = refused ? (refused.form.get(name) ?? '') : textOf(limits[name]);
    const id = `${prefix}-${name}`;
    return html`<div class="field"><label for="${id}">${limitTable[name].title}</label>
<input id="${id}" name="${name}" value="${value}" placeholder="${textOf(otherwise?.[name]) || 'not limited'}" maxlength="40" autocomplete="off" ${fault && html`aria-invalid="true" aria-describedby="${id}-fault"`}>
${fault && html`<span class="fault" id="${id}-fault">${fault}</span>`}</div>\n`;
  };
  return html`<div class="fields">${fieldNames(seesMoney).map(field)}</div>`;
}

/** A rule as it is typed. */
export function textOf(value: unknown): string {
  if (value === undefined) return '';
  if (value === null) return lifted;
  const { limit = value, hard } = Object(value) as { limit?: unknown; hard?: boolean };
  return hard === undefined ? String(limit) : `${limit} ${hard ? 'hard' : 'not hard'}`;
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
