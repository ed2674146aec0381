import { type ErrorClass, type ErrorCounts, errorClasses } from '../../../src/plugin.ts';
import type { Scope } from '../scope.ts';
import { numberOf } from './format.ts';
import { type Column, numbers } from './table.ts';

/** The names of classes of errors for a kind of reader; classes of one name are counted together. */
type ClassTitles = Readonly<Record<ErrorClass, string>>;

export const classTitles: ClassTitles = {
  provider_failed: 'Provider failed',
  gateway_failed: 'Gateway failed',
  refusal: 'Refused',
  client_error: 'Client errors',
};

/** For readers who are not told by what they are served. */
const outerTitles: ClassTitles = { ...classTitles, provider_failed: 'Failed', gateway_failed: 'Failed' };

const titlesFor = ({ sees }: Scope): ClassTitles => (sees.internals ? classTitles : outerTitles);

/** What is counted of the errors of some requests; `failed_requests` are all, of which some may be from before classes were told apart. */
type Errors = ErrorCounts & { readonly failed_requests: number };

/** The classes with their counts, by title. */
function countsOf(errors: ErrorCounts, titles: ClassTitles): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of errorClasses) counts.set(titles[name], (counts.get(titles[name]) ?? 0) + errors[name]);
  return counts;
}

/** `3 provider failed, 12 refused`, or that there were none, as its reader may know it. */
export function errorsText(errors: Errors, scope: Scope): string {
  const counts = [...countsOf(errors, titlesFor(scope)), ['Unknown errors', unknownOf(errors)] as const];
  const named = counts.filter(([, count]) => count > 0);
  const phrase = ([title, count]: (typeof named)[number]) =>
    `${numberOf(count)} ${count === 1 ? title.replace(/s$/, '') : title}`.toLowerCase();
  return named.map(phrase).join(', ') || 'no errors';
}

/** Errors of before the upgrade of the records store that told them apart. */
const unknownOf = ({ failed_requests, ...errors }: Errors): number =>
  errorClasses.reduce((rest, name) => rest - errors[name], failed_requests);

/** A column for the errors of each class, for those who choose it; one more where some are not told apart. */
export function errorColumns<R>(of: (row: R) => Errors, rows: readonly R[], scope: Scope): Column<R>[] {
  const titles = titlesFor(scope);
  const column = (title: string, count: (row: R) => number) => {
    const key = title.toLowerCase().replace(' ', '_');
    return numbers<R>(title, row => numberOf(count(row)), { key, by: count, isExtra: true });
  };
  const known = [...new Set(Object.values(titles))];
  const unknown = rows.some(row => unknownOf(of(row)) > 0);
  return [
    ...known.map(title => column(title, row => countsOf(of(row), titles).get(title)!)),
    ...(unknown ? [column('Unknown errors', row => unknownOf(of(row)))] : []),
  ];
}
