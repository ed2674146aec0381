import { Argument, Command } from 'commander';
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
  readonly next: readonly { readonly word: string; readonly description: string }[];
}

/** Longest paths first. Without a command the options are those of `serve`. */
function levelsOf(command: Command, path: string): Level[] {
  const { commands, registeredArguments: parameters } = command;
  const withOptions = path === '' ? commands.find(child => child.name() === 'serve')! : command;
  const options = command.createHelp().visibleOptions(withOptions);
  const next = [
    ...commands.map(child => ({ word: child.name(), description: child.description() })),
    ...parameters.flatMap(({ argChoices = [] }) => argChoices.map(word => ({ word, description: '' }))),
    ...options.map(({ long, description }) => ({ word: long!, description })),
  ];
  const below = commands.flatMap(child => levelsOf(child, `${path} ${child.name()}`.trim()));
  return [...below, { path, next }];
}

/** Completes file names after `--config`, and where no word fits. */
const bashScript = (levels: readonly Level[]): string => `_sluice() {
  local words
  [[ "\${COMP_WORDS[COMP_CWORD-1]}" == @(-c|--config) ]] && return
  case "\${COMP_WORDS[*]:1:COMP_CWORD-1} " in
${levels.map(({ path, next }) => `    ${path && `'${path} '`}*) words='${next.map(({ word }) => word).join(' ')}' ;;`).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _sluice sluice`;

const fishScript = (levels: readonly Level[]): string =>
  levels
    .flatMap(({ path, next }) =>
      next.map(({ word, description }) => {
        const seen = path
          .split(' ')
          .filter(Boolean)
          .map(name => `__fish_seen_subcommand_from ${name}`);
        const condition = seen.length > 0 ? seen.join('; and ') : '__fish_use_subcommand';
        const completion = word.startsWith('--') ? `-l ${word.slice(2)}` : `-f -a ${word}`;
        return `complete -c sluice -n '${condition}' ${completion} -d '${description.replaceAll("'", "\\'")}'`;
      }),
    )
    .join('\n');
