import type { Argument, Command, Option } from 'commander';
import { guides } from '../../../src/cli/command-guide.ts';
import { createProgram } from '../../../src/cli/program.ts';
import { escaped } from './passages.ts';

/** Every command with its usage, arguments, options, exit codes and examples, as sections in Markdown. */
export function commandReference(): string {
  return sectionsOf(createProgram({ print: () => {}, remark: () => {} })).join('\n\n');
}

function sectionsOf(command: Command, above = ''): string[] {
  return command.commands.flatMap(child => {
    const name = `${above} ${child.name()}`.trim();
    return [sectionOf(child, name), ...sectionsOf(child, name)];
  });
}

function sectionOf(command: Command, name: string): string {
  const guide = guides[name];
  const parts = [`### sluice ${name}`, asSentence(command.description()), ...notesOf(command)];
  if (guide) {
    parts.push(['```text', `sluice ${name} ${command.usage()}`.trim(), '```'].join('\n'));
    parts.push(...rowsOf(command));
    parts.push(`Exit code 1: ${guide.fails}.`, ['```sh', ...guide.examples, '```'].join('\n'));
  }
  return parts.filter(part => part !== '').join('\n\n');
}

function rowsOf(command: Command): string[] {
  const help = command.createHelp();
  const cell = (text: string) => text.replaceAll('|', '\\|');
  const row = (term: string, text: string) => `| \`${cell(term)}\` | ${escaped(cell(text))} |`;
  const rows = [
    ...command.registeredArguments.flatMap((argument: Argument) =>
      argument.description === '' ? [] : [row(argument.name(), help.argumentDescription(argument))],
    ),
    ...help
      .visibleOptions(command)
      .filter(({ long }: Option) => long !== '--help')
      .map((option: Option) => row(help.optionTerm(option), help.optionDescription(option))),
  ];
  return rows.length === 0 ? [] : [['| argument, option | |', '|---|---|', ...rows].join('\n')];
}

/** What the help says before and behind the lists of options and commands. */
function notesOf(command: Command): string[] {
  let help = '';
  const write = (text: string) => {
    help += text;
  };
  command.configureOutput({ writeOut: write, getOutHelpWidth: () => 10_000 }).outputHelp();
  const [before = ''] = help.split(/^Usage: /m);
  const after = help
    .slice(help.lastIndexOf('display help for command') + 'display help for command'.length)
    .split(/^Exit codes: /m)[0]!;
  return [before, after].map(text => text.trim()).flatMap(text => (text === '' ? [] : [shown(text)]));
}

const shown = (text: string): string => {
  const isPlain = !/^ {2}/m.test(text) && !/^\w+: \{/m.test(text);
  return isPlain ? escaped(text.replace(/(?<!\n)\n(?!\n)/g, ' ')) : `\`\`\`text\n${text}\n\`\`\``;
};

const asSentence = (text: string): string => {
  const sentence = `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
  return /[.!?]$/.test(sentence) ? sentence : `${sentence}.`;
};
