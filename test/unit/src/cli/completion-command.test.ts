import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { runCommandLine } from '../../../../src/cli/program.ts';

async function scriptFor(shell: string): Promise<string> {
  const printed: string[] = [];
  await runCommandLine(['completion', shell], { print: text => printed.push(text), remark: () => {} });
  return printed.join('\n');
}

/** What bash offers for the last of `words`, which follow `sluice`. */
async function offered(...words: readonly string[]): Promise<string> {
  const line = ['sluice', ...words].map(word => `'${word}'`).join(' ');
  const call = `COMP_WORDS=(${line}); COMP_CWORD=${words.length}; _sluice; echo "\${COMPREPLY[*]}"`;
  const { stdout } = await promisify(execFile)('bash', ['-c', `${await scriptFor('bash')}\n${call}`]);
  return stdout.trim();
}

describe('sluice completion', () => {
  it.each([
    ['ke', 'keys'],
    ['keys ', 'create import set-models set-tags set-limits set-expiry list rotate revoke --help'],
    ['keys create --ac', '--account'],
    ['keys create --account x --ex', '--expires'],
    ['accounts set-', 'set-plan set-limits set-models set-parent set-display-name set-contacts'],
    ['simulate --ttft', '--ttft-ms'],
    ['--admin', '--admin-port'],
    ['completion ', 'bash zsh fish --help'],
    ['check --config ', ''],
    ['keys create --account a', ''],
    ['keys list --format ', 'table csv json'],
    ['check --format j', 'json'],
    ['init --adapter o', 'openrouter openai ollama'],
    ['print', 'print-config'],
    ['--ver', '--version'],
    ['doctor --g', '--generate'],
  ])('completes %j in bash with %j', async (words, expected) => {
    expect(await offered(...words.split(' '))).toBe(expected);
  });

  it('prints the same script for zsh, and one line for each word for fish', async () => {
    expect(await scriptFor('zsh')).toBe(
      `autoload -U +X bashcompinit && bashcompinit\n${await scriptFor('bash')}`,
    );
    const fish = (await scriptFor('fish')).split('\n');
    expect(fish).toContain(
      "complete -c sluice -n '__fish_use_subcommand' -f -a check -d 'list everything that is wrong with a configuration'",
    );
    expect(fish).toContain(
      "complete -c sluice -n '__fish_seen_subcommand_from print-config' -l format -x -a 'yaml json' -d 'how it is printed'",
    );
    expect(fish).toContainEqual(
      expect.stringMatching(
        /^complete -c sluice -n '__fish_seen_subcommand_from keys; and __fish_seen_subcommand_from create' -l account -r /,
      ),
    );
  });

  it('refuses a shell without a script, and lists those that have one', async () => {
    await expect(scriptFor('tcsh')).rejects.toThrow(
      /'tcsh' is invalid.* Allowed choices are bash, zsh, fish\./,
    );
  });
});
