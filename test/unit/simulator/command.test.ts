import { afterEach, describe, expect, it } from '@jest/globals';
import { runSimulate } from '../../../src/simulator/command.ts';
import { DIRECTIVES } from '../../../src/simulator/directives.ts';
import { optionFlag } from '../../../src/simulator/help.ts';
import { OPTION_NAMES } from '../../../src/simulator/options.ts';
import type { Simulator } from '../../../src/simulator/server.ts';
import { ask, complete, post } from './client.ts';

let simulator: Simulator | undefined;

afterEach(async () => {
  await simulator?.close();
  simulator = undefined;
});

describe('runSimulate', () => {
  it('starts a server with the options of its flags', async () => {
    const lines: string[] = [];
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
    simulator = await runSimulate(flags, line => lines.push(line));
    if (!simulator) throw new Error('There is no server.');
    expect(lines[0]).toContain(simulator.url);
    expect(lines.join('\n')).toContain('a, b');
    const { choices, usage } = await complete(simulator, ask('Hello', { model: 'b' }));
    expect(choices[0]?.message.content).toMatch(/^<think>\n/);
    expect(usage?.prompt_tokens_details?.cached_tokens).toBeGreaterThan(0);
    expect((await post(simulator, ask('Hello', { model: 'c' }))).status).toBe(404);
  });

  it('documents every option and every directive', async () => {
    const lines: string[] = [];
    expect(await runSimulate(['--help'], line => lines.push(line))).toBeUndefined();
    const help = lines.join('\n');
    for (const name of OPTION_NAMES) expect(help).toContain(`  ${optionFlag(name)} `);
    for (const name of Object.keys(DIRECTIVES))
      expect(help).toMatch(new RegExp(`^ {2}${name}(\\[?=| )`, 'm'));
    expect(Math.max(...lines.map(line => line.length))).toBeLessThanOrEqual(110);
  });

  it.each([
    [
      ['--prot', '1'],
      /Unknown option '--prot'\. Did you mean '--port'\? Accepted: --host, --port, .*--help\./,
    ],
    [['serve'], /Unexpected argument 'serve'.*Accepted: --host/],
    [['--port'], /--port.*argument missing.*Accepted: --host/],
    [['--port', 'http'], /--port must be an integer of at least 0 and at most 65535, not 'http'/],
    [['--reasoning', 'loud'], /--reasoning must be one of field/],
    [['--fail', 'status=500'], /set fail_rate as well/],
  ])('refuses %j', async (argv, message) => {
    await expect(runSimulate(argv, () => undefined)).rejects.toThrow(message);
  });
});
