import { Argument, Command, type Option } from 'commander';
import type { Voice } from './command.ts';

/** `sluice completion SHELL`: a script that completes the commands and options of `program`. */
export const completionCommand = (program: Command, { print }: Voice): Command =>
  new Command('completion')
    .description('print a completion script: sluice completion bash >> ~/.bashrc')
    .addArgument(new Argument('<SHELL>').choices(['bash', 'zsh', 'fish']))
    .action((shell: 'bash' | 'zsh' | 'fish') => {
      const levels = levelsOf(program, '');
      if (shell === 'fish') return print(fishScript(levels));
      print(
        shell === 'zsh'
          ? `autoload -U +X bashcompinit && bashcompinit\n${bashScript(levels)}`
          : bashScript(levels),
      );
    });

/** A command line so far, such as `keys create`, and what can follow it. */
interface Level {
  readonly path: string;
  readonly next: readonly Word[];
}

interface Word {
  readonly word: string;
  readonly description: string;
  /** Of an option that takes a value. */
  readonly value?: { readonly flags: readonly string[]; readonly choices: readonly string[] };
}

/** Longest paths first. Without a command the options are those of `serve`. */
function levelsOf(command: Command, path: string): Level[] {
  const { commands, registeredArguments: parameters } = command;
  const withOptions = path === '' ? commands.find(child => child.name() === 'serve')! : command;
  const ofProgram = path === '' ? command.options : [];
  const options = [...command.createHelp().visibleOptions(withOptions), ...ofProgram];
  const next = [
    ...commands.map(child => ({ word: child.name(), description: child.description() })),
    ...parameters.flatMap(({ argChoices = [] }) => argChoices.map(word => ({ word, description: '' }))),
    ...options.map(wordOf),
  ];
  const below = commands.flatMap(child => levelsOf(child, `${path} ${child.name()}`.trim()));
  return [...below, { path, next }];
}

function wordOf({ long, short, description, required, argChoices = [] }: Option): Word {
  const flags = [short, long].filter(flag => flag != null);
  return { word: long!, description, ...(required && { value: { flags, choices: argChoices } }) };
}

/** Completes the values of options that have a list of them, file names after other options with a value, and where no word fits. */
const bashScript = (levels: readonly Level[]): string => `_sluice() {
  local words
  case "\${COMP_WORDS[*]:1:COMP_CWORD-1} " in
${levels.map(bashLevel).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _sluice sluice`;

function bashLevel({ path, next }: Level): string {
  const values = next
    .flatMap(({ value }) => value ?? [])
    .map(({ flags, choices }) => {
      const completion = choices.length === 0 ? 'return' : `words='${choices.join(' ')}'`;
      return `\n      ${flags.join('|')}) ${completion} ;;`;
    });
  const words = `words='${next.map(({ word }) => word).join(' ')}'`;
  const byLast = `; case "\${COMP_WORDS[COMP_CWORD-1]}" in${values.join('')}\n    esac`;
  return `    ${path && `'${path} '`}*) ${words}${values.length > 0 ? byLast : ''} ;;`;
}

const fishScript = (levels: readonly Level[]): string =>
  levels
    .flatMap(({ path, next }) =>
      next.map(({ word, description, value }) => {
        const seen = path
          .split(' ')
          .filter(Boolean)
          .map(name => `__fish_seen_subcommand_from ${name}`);
        const condition = seen.length > 0 ? seen.join('; and ') : '__fish_use_subcommand';
        const completion = word.startsWith('--') ? `-l ${word.slice(2)}` : `-f -a ${word}`;
        const values = value && (value.choices.length === 0 ? ' -r' : ` -x -a '${value.choices.join(' ')}'`);
        return `complete -c sluice -n '${condition}' ${completion}${values ?? ''} -d '${description.replaceAll("'", "\\'")}'`;
      }),
    )
    .join('\n');
