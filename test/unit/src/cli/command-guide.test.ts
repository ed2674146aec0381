import { describe, expect, it } from '@jest/globals';
import type { Command } from 'commander';
import { exitCodeOf } from '../../../../src/cli/command.ts';
import { guides } from '../../../../src/cli/command-guide.ts';
import { createProgram, runCommandLine } from '../../../../src/cli/program.ts';
import { version } from '../../../../src/common/version.ts';

const silent = { print: () => {}, remark: () => {} };

/** Commands that do something, by their name below `sluice`. */
function commandsOf(command: Command, name = ''): [name: string, command: Command][] {
  if (command.commands.length === 0) return [[name, command]];
  return command.commands.flatMap(child => commandsOf(child, `${name} ${child.name()}`.trim()));
}

/** The words of an example in a shell, without what it redirects. */
const wordsOf = (line: string): string[] =>
  [...line.replace(/ [<>]+ .*$/, '').matchAll(/'([^']*)'|(\S+)/g)].map(
    ([, quoted, plain]) => quoted ?? plain!,
  );

async function exitCode(words: readonly string[]): Promise<number> {
  return runCommandLine(words, silent).then(() => 0, exitCodeOf);
}

const names = commandsOf(createProgram(silent)).map(([name]) => name);

describe('every command', () => {
  it('has a guide with the reasons of its exit code 1 and examples', () => {
    expect(Object.keys(guides).sort()).toEqual(names.toSorted());
    for (const { fails, examples } of Object.values(guides)) {
      expect(fails).not.toBe('');
      expect(examples).not.toEqual([]);
    }
  });

  it.each(names)('says in its help how it ends and what is typed: sluice %s', async name => {
    const printed: string[] = [];
    await runCommandLine([...name.split(' '), '--help'], { ...silent, print: text => printed.push(text) });
    expect(printed.join('\n')).toContain(`Exit codes: 0 done; 1 ${guides[name]!.fails}; 2 `);
    expect(printed.join('\n')).toContain(`Examples:\n  ${guides[name]!.examples[0]}`);
  });

  it.each(Object.values(guides).flatMap(({ examples }) => examples))(
    'accepts its example: %s',
    async line => {
      const program = createProgram(silent);
      const done: string[] = [];
      for (const [name, command] of commandsOf(program)) command.action(() => void done.push(name));
      const [first, ...words] = wordsOf(line);
      await program.parseAsync(words, { from: 'user' });
      expect([first, `${words.join(' ')} `]).toEqual(['sluice', expect.stringMatching(`^${done[0]} `)]);
    },
  );

  it.each(names)('ends with the code 2 for an option that it does not have: sluice %s', async name => {
    expect(await exitCode([...name.split(' '), '--no-such-option'])).toBe(2);
  });

  const withConfig = Object.entries(guides)
    .map(([name, { examples }]) => [name, examples[0]!] as const)
    .filter(([name, line]) => line.includes('--config') && name !== 'serve');
  it.each(withConfig)(
    'ends with the code 1 when its configuration cannot be read: sluice %s',
    async (_, line) => {
      expect(
        await exitCode(
          wordsOf(line)
            .slice(1)
            .map(word => word.replace(/\.yaml$/, '/none')),
        ),
      ).toBe(1);
    },
  );
});

describe('sluice', () => {
  it.each(['--version', '-V'])('prints its version in one line for %s', async flag => {
    const printed: string[] = [];
    await runCommandLine([flag], { ...silent, print: text => printed.push(text) });
    expect(printed).toEqual([`sluice ${version} (Node ${process.versions.node})`]);
  });
});
