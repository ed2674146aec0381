import { printable } from '../../common/printable.ts';
import { suggested } from '../../common/suggestion.ts';
import type { DiscoveredModel } from '../../mount/provider-check/discovered-model.ts';
import { CommandMistake } from '../command.ts';
import type { Ask } from './questions.ts';

/** Models that are taken without a choice, and that are shown at a time. */
const max_shown = 20;

/** The models of `names`. Throws a CommandMistake with the nearest name for one that the server does not list. */
export function namedModels(
  listed: readonly DiscoveredModel[],
  names: readonly string[],
): readonly DiscoveredModel[] {
  return names.map(name => {
    const model = listed.find(({ id }) => id === name);
    if (model) return model;
    throw new CommandMistake(`the server has no model '${printable(name)}'${suggestionFor(name, listed)}`);
  });
}

function suggestionFor(name: string, listed: readonly DiscoveredModel[]): string {
  const names = listed.map(({ id }) => printable(id));
  const list = names.length > max_shown ? `it lists ${names.length} others` : `it lists: ${names.join(', ')}`;
  return suggested(name, names, list);
}

/** All models, if they are few. Throws a CommandMistake otherwise. */
export function allModels(listed: readonly DiscoveredModel[]): readonly DiscoveredModel[] {
  if (listed.length <= max_shown) return listed;
  const some = listed.slice(0, 5).map(({ id }) => printable(id));
  throw new CommandMistake(
    `the server lists ${listed.length} models; name those that you want: --models A,B (such as ${some.join(', ')})`,
  );
}

/** Lets people choose: by number, by name, or by a part of the name that is looked for. */
export async function chosenModels(
  listed: readonly DiscoveredModel[],
  ask: Ask,
  print: (text: string) => void,
): Promise<readonly DiscoveredModel[]> {
  let shown = listed;
  for (;;) {
    print(shownList(shown, listed.length));
    const all = shown.length <= max_shown ? 'all' : '';
    const answer = await ask(
      'Models, by number or name with commas between them, or a part of a name to search:',
      all,
    );
    if (answer === 'all' && all !== '') return shown;
    const chosen = answer.split(',').map(word => modelFor(word.trim(), shown, listed));
    if (answer !== '' && chosen.every(model => model !== undefined)) return [...new Set(chosen)];
    const found = listed.filter(({ id }) => id.toLowerCase().includes(answer.toLowerCase()));
    if (found.length === 0) print(`no model has '${printable(answer)}' in its name`);
    shown = found.length === 0 ? listed : found;
  }
}

function modelFor(
  word: string,
  shown: readonly DiscoveredModel[],
  listed: readonly DiscoveredModel[],
): DiscoveredModel | undefined {
  return (
    listed.find(({ id }) => id === word) ?? (/^\d{1,4}$/.test(word) ? shown[Number(word) - 1] : undefined)
  );
}

function shownList(shown: readonly DiscoveredModel[], all: number): string {
  const lines = shown
    .slice(0, max_shown)
    .map(({ id }, at) => `${String(at + 1).padStart(4)}  ${printable(id)}`);
  const rest = shown.length - lines.length;
  const more = rest > 0 ? [`      and ${rest} more; type a part of a name, such as a maker's`] : [];
  return [`${shown.length === all ? '' : `${shown.length} of `}${all} models:`, ...lines, ...more].join('\n');
}
