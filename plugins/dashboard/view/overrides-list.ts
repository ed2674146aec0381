import { type LimitName, limitTable } from '../../../src/plugin.ts';
import type { Part } from './html.ts';
import { type Limits, textOf } from './limit-fields.ts';
import { type Column, tableOf } from './table.ts';

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
