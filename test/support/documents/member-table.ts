import { read } from './blocks.ts';

/** An interface, or the type of an object, by its file and name. */
export type InterfacePlace = readonly [file: string, name: string];

/** The members of public interfaces with their docstrings, as a table: `?` marks those that may be left out. */
export function memberTable(...places: readonly InterfacePlace[]): string {
  const rows = new Map<string, string>();
  for (const [member, row] of places.flatMap(rowsOf)) if (!rows.has(member)) rows.set(member, row);
  return ['| | |', '|---|---|', ...rows.values()].join('\n');
}

/** Functions and classes of one file with their docstrings, as rows of such a table. */
export function helperRows(file: string, ...names: readonly string[]): string[] {
  return names.map(name => {
    const declared = new RegExp(
      `/\\*\\*((?:(?!\\*/)[\\s\\S])*)\\*/\\nexport (?:async )?(?:function|const|class) ${name}\\b`,
    );
    const [, docstring] = declared.exec(read(file)) ?? [];
    if (docstring === undefined) throw new Error(`${file} has no ${name} with a docstring`);
    return `| \`${name}\` | ${textOf(docstring)} |`;
  });
}

/** A row of each member, by its name. */
function rowsOf([file, name]: InterfacePlace): (readonly [member: string, row: string])[] {
  const declared = new RegExp(`^export (?:interface|type) ${name}\\b[\\s\\S]*?\\{\\n([\\s\\S]*?)^\\}`, 'm');
  const rows = [...(declared.exec(read(file))?.[1] ?? '').matchAll(member)].map(
    ([, docstring = '', signature = '']) => {
      const member = shortOf(signature);
      return [member, `| \`${member}\` | ${textOf(docstring)} |`] as const;
    },
  );
  if (rows.length === 0) throw new Error(`${file} has no interface ${name} with docstrings`);
  return rows;
}

/** A docstring of a member and the member, up to the end of its parameters or the colon before its type. */
const member =
  /^ {2}\/\*\*([\s\S]*?)\*\/\n(?: {2}\/\/.*\n)* {2}((?:readonly )?\w+\??(?:<[^(]*>)?(?:\([\s\S]*?\)(?=: (?!.* => )|;)|(?=:)))/gm;

/** Names of the member and its parameters. */
function shortOf(signature: string): string {
  const [, name = '', parameters] = /^(?:readonly )?(\w+\??)(?:<[^(]*>)?(?:\(([\s\S]*)\))?/.exec(signature)!;
  if (parameters === undefined) return name;
  return `${name}(${namesIn(parameters).join(', ')})`;
}

/** Names of parameters, without their types. */
function namesIn(parameters: string): string[] {
  const flat = parameters.replace(/=>/g, '');
  const names: string[] = [];
  let depth = 0;
  let from = 0;
  for (let at = 0; at <= flat.length; at++) {
    const character = flat[at] ?? ',';
    if ('({<['.includes(character)) depth++;
    if (')}>]'.includes(character)) depth--;
    if (character !== ',' || depth > 0) continue;
    const [named] = /\w+\??(?=:)/.exec(flat.slice(from, at)) ?? [];
    if (named !== undefined) names.push(named);
    from = at + 1;
  }
  return names;
}

const textOf = (docstring: string): string =>
  docstring
    .replace(/^\s*\* ?/gm, '')
    .replace(/@example[\s\S]*|@defaultValue[\s\S]*/, '')
    .replace(/\s+/g, ' ')
    .trim()
    .replaceAll('|', '\\|');
