import { Readable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { hashPasswordCommand } from '../../../../src/cli/hash-password-command.ts';
import { runCommandLine } from '../../../../src/cli/program.ts';
import { isPassword } from '../../../../src/common/password.ts';

async function run(text: string, args: readonly string[] = []): Promise<string> {
  const printed: string[] = [];
  const voice = { print: (line: string) => void printed.push(line), remark: () => {} };
  const command = hashPasswordCommand(voice, Readable.from([Buffer.from(text)]));
  await command.parseAsync(args, { from: 'user' });
  return printed.join('\n');
}

describe('sluice hash-password', () => {
  it('prints the hash of the first line, and nothing else', async () => {
    const printed = await run('a long secret\nand more\n');
    expect(printed).toMatch(/^scrypt:[\w:-]+$/);
    expect(await isPassword('a long secret', printed)).toBe(true);
  });

  it('rejects a password given as an argument, where others could see it', async () => {
    await expect(run('', ['a long secret'])).rejects.toThrow(/takes no argument/);
  });

  it.each(['', '\n', 'short\n'])('rejects a password that is too short: %j', async text => {
    await expect(run(text)).rejects.toThrow('a password has at least 12 characters');
  });

  it('prints its help', async () => {
    const printed: string[] = [];
    const voice = { print: (line: string) => void printed.push(line), remark: () => {} };
    await runCommandLine(['hash-password', '--help'], voice);
    expect(printed.join('\n')).toContain('admin: { users:');
  });
});
