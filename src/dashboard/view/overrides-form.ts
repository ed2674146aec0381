import { issuesOf } from '../../diagnostics/config-error.ts';
import { type LimitName, limitNames, limitTable } from '../../stores/limits/limit-table.ts';
import { limitOverridesSchema, type Plan } from '../../stores/limits/plan-limits.ts';
import { type Html, html, type Part } from './html.ts';
import { type Column, tableOf } from './table.ts';

type Limits = Readonly<Record<string, unknown>>;

/** What is typed to lift a limit of the plan. */
const lifted = 'none';

/** The fields as they were sent, and what is wrong with them by their names; `''` for what no field has. */
export interface RefusedOverrides {
  readonly form: URLSearchParams;
  readonly faults: ReadonlyMap<string, string>;
}

/** Reads overrides from a form. Limits on single models stay as they are. */
export function overridesOf(
  form: URLSearchParams,
  { models }: Limits,
): { readonly limits: Limits } | Pick<RefusedOverrides, 'faults'> {
  const typed = limitNames.flatMap(name => {
    const text = (form.get(name) ?? '').trim();
    return text === '' ? [] : [[name, amountOf(text)] as const];
  });
  const limits = { ...Object.fromEntries(typed), ...(models !== undefined && { models }) };
  const checked = limitOverridesSchema.safeParse(limits);
  if (checked.success) return { limits };
  const issues = issuesOf(checked.error, limitOverridesSchema, limits);
  const faults = issues.map(({ path: [name = ''], message }): [string, string] =>
    name === 'models' ? ['', `The limits of models: ${message}`] : [String(name), message],
  );
  return { faults: new Map(faults) };
}

/** A number where it reads the same, so that amounts of money keep all digits. */
function amountOf(text: string): number | string | null {
  if (text.toLowerCase() === lifted) return null;
  return String(Number(text)) === text ? Number(text) : text;
}

/** One input for each limit; what the plan has is its placeholder. */
export function overridesFields(limits: Limits, plan: Plan | undefined, refused?: RefusedOverrides): Html {
  const field = (name: LimitName): Html => {
    const fault = refused?.faults.get(name);
    const value = refused ? (refused.form.get(name) ?? '') : textOf(limits[name]);
    const id = `limit-${name}`;
    return html`<div class="field"><label for="${id}">${limitTable[name].title}</label>
<input id="${id}" name="${name}" value="${value}" placeholder="${plan?.[name] ?? 'not limited'}" maxlength="40" autocomplete="off" ${fault && html`aria-invalid="true" aria-describedby="${id}-fault"`}>
${fault && html`<span class="fault" id="${id}-fault">${fault}</span>`}</div>\n`;
  };
  return html`<div class="fields">${limitNames.map(field)}</div>`;
}

function textOf(value: unknown): string {
  if (value === undefined) return '';
  return value === null ? lifted : String(value);
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
  { title: 'Models', cell: ({ model }) => model, isName: true },
  { title: 'Limit', cell: ({ title }) => title, isName: true },
  { title: 'Amount', cell: ({ value }) => value, isNumber: true },
];
