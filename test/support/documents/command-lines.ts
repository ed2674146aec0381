import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { createProgram } from '../../../src/cli/program.ts';
import { allTools } from '../../tools/all-tools.ts';
import { type Block, documents, read, root } from './blocks.ts';

/** A command of `sluice` or npm that a document shows. */
interface CommandLine {
  readonly place: string;
  readonly text: string;
}

/** Those in `sh` blocks, and those in the text that stand in backquotes. */
export function commandLines(blocks: readonly Block[]): CommandLine[] {
  const inBlocks = blocks
    .filter(({ language }) => language === 'sh')
    .flatMap(({ document, line, code }) =>
      code.split('\n').map((text, at) => ({ place: `${document}:${line + at}`, text })),
    );
  const inText = documents.flatMap(document =>
    read(document)
      .split('\n')
      .flatMap((text, at) =>
        [...text.matchAll(/(?<!`)`((?:npx )?sluice |npm )([^`]+)`(?!`)/g)].map(([, program, rest]) => ({
          place: `${document}:${at + 1}`,
          text: `${program}${rest}`,
        })),
      ),
  );
  return [...inBlocks, ...inText].flatMap(({ place, text }) =>
    text
      .replace(/(^|\s)#.*$/, '')
      .split(/[|;()]|&&|\$\(/)
      .map(part => ({ place, text: part.trim().replace(/^(?:\w+=\S+\s+)+/, '') })),
  );
}

const program = createProgram({ print: () => {}, remark: () => {} });
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>;
};

/** What does not exist of a command line: a script, a subcommand, an option. */
export function faultsOfCommandLine({ place, text }: CommandLine): string[] {
  const [first, ...words] = text.split(/\s+/);
  if (first === 'npx' && words[0] === 'sluice') return faultsOfSluice(words.slice(1), place);
  if (first === 'sluice') return faultsOfSluice(words, place);
  if (first !== 'npm') return [];
  const [verb, script = ''] = words;
  if (verb === 'start') return faultsOfSluice(afterDashes(words), place);
  if (verb === 'run' || verb === 'run-script')
    return Object.hasOwn(scripts, script)
      ? faultsOfTool(script, afterDashes(words), place)
      : [`${place}: there is no npm script '${script}'`];
  return [];
}

/** What does not exist of a call of one of the tools. */
function faultsOfTool(script: string, [name]: readonly string[], place: string): string[] {
  const isKnown = name === undefined || (allTools[script]?.has(name) ?? true);
  return isKnown ? [] : [`${place}: npm run ${script} has no '${name}'`];
}

const afterDashes = (words: readonly string[]) =>
  words.includes('--') ? words.slice(words.indexOf('--') + 1) : [];

function faultsOfSluice(words: readonly string[], place: string): string[] {
  let command: Command = program;
  let at = 0;
  for (; at < words.length; at++) {
    const child = command.commands.find(each => each.name() === words[at]);
    if (!child) break;
    command = child;
  }
  const next = words[at];
  const isWord = next !== undefined && /^[a-z]/.test(next);
  if (isWord && command.commands.length > 0)
    return [`${place}: ${['sluice', ...words.slice(0, at)].join(' ')} has no command '${next}'`];
  if (command === program) command = program.commands.find(each => each.name() === 'serve')!;
  const known = ['--help', '-h', ...command.options.flatMap(({ long, short }) => [long, short])];
  if (at === 0) known.push(...program.options.flatMap(({ long, short }) => [long, short]));
  return words
    .flatMap(word => /^--?[a-z][a-z-]*/.exec(word)?.[0] ?? [])
    .filter(flag => !known.includes(flag))
    .map(flag => `${place}: sluice ${command.name()} has no option ${flag}`);
}
