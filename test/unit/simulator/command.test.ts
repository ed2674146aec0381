import { afterEach, describe, expect, it } from '@jest/globals';
import { throwMistakes } from '../../../src/cli/program.ts';
import { optionFlag, simulateCommand } from '../../../src/simulator/command.ts';
import { DIRECTIVES } from '../../../src/simulator/directives.ts';
import { OPTION_NAMES } from '../../../src/simulator/options.ts';
import type { Simulator } from '../../../src/simulator/server.ts';
import { runHere } from '../../support/command-here.ts';
import { ask, complete, post } from './client.ts';

let simulator: Simulator | undefined;

afterEach(async () => {
  await simulator?.close();
  simulator = undefined;
});

/** `sluice simulate` with these flags; what it prints, line by line. */
async function run(flags: readonly string[]): Promise<string[]> {
  const lines: string[] = [];
  const print = (text: string) => void lines.push(...text.split('\n'));
  const command = simulateCommand(print, started => {
    simulator = started;
  });
  throwMistakes(command, print);
  await command.parseAsync(flags, { from: 'user' });
  return lines;
}

describe('sluice simulate', () => {
  it('starts a server with the options of its flags', async () => {
    const flags = [
      '--models',
      'a, b',
      '--reasoning=tags',
      '--cached-tokens',
      '.5',
      '--fail-rate',
      '0',
      '--port',
      '0',
    ];
    const lines = await run(flags);
    if (!simulator) throw new Error('There is no server.');
    expect(lines[0]).toContain(simulator.url);
    expect(lines.join('\n')).toContain('a, b');
    const { choices, usage } = await complete(simulator, ask('Hello', { model: 'b' }));
    expect(choices[0]?.message.content).toMatch(/^<think>\n/);
    expect(usage?.prompt_tokens_details?.cached_tokens).toBeGreaterThan(0);
    expect((await post(simulator, ask('Hello', { model: 'c' }))).status).toBe(404);
  });

  it('documents every option and every directive', async () => {
    const { stdout, code } = await runHere(['simulate', '--help']);
    expect(code).toBe(0);
    const lines = stdout.split('\n');
    const help = lines.join('\n');
    for (const name of OPTION_NAMES) expect(help).toContain(`  ${optionFlag(name)} `);
    for (const name of Object.keys(DIRECTIVES))
      expect(help).toMatch(new RegExp(`^ {2}${name}(\\[?=| )`, 'm'));
    expect(Math.max(...lines.map(line => line.length))).toBeLessThanOrEqual(110);
  });

  it.each([
    [
      ['--prot', '1'],
      /unknown option '--prot'\n\(Did you mean --port\?\)[\s\S]*--host[\s\S]*--port[\s\S]*--help/,
    ],
    [['serve'], /too many arguments.*Expected 0[\s\S]*--host/],
    [['--port'], /--port.*argument missing[\s\S]*--host/],
    [['--port', 'http'], /--port must be an integer of at least 0 and at most 65535, not 'http'/],
    [['--reasoning', 'loud'], /--reasoning must be one of field/],
    [['--fail', 'status=500'], /set fail_rate as well/],
  ])('rejects the arguments %j', async (argv, message) => {
    await expect(run(argv)).rejects.toThrow(message);
  });
});
