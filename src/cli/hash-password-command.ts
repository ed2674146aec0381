import { createInterface } from 'node:readline/promises';
import { type Readable, Writable } from 'node:stream';
import { Command } from 'commander';
import { hashPassword } from '../common/password.ts';
import { CommandMistake, UsageMistake, type Voice } from './command.ts';

type Input = Readable & { isTTY?: boolean };

const min_characters = 12;

/** `sluice hash-password`. */
export const hashPasswordCommand = (voice: Voice, input: Input = process.stdin): Command =>
  new Command('hash-password')
    .description('hash a password for admin.users in the configuration')
    .addHelpText(
      'after',
      `
Asks for the password without showing it, or takes the first line of standard input. Prints scrypt:N:r:p:SALT:KEY, to be used as:
admin: { users: { NAME: { password_hash: "…" } } }`,
    )
    .allowExcessArguments()
    .action((_, { args }: Command) => printHash(args, voice, input));

async function printHash(args: readonly string[], voice: Voice, input: Input): Promise<void> {
  if (args.length > 0)
    throw new UsageMistake(
      'sluice hash-password takes no argument: others could see it. It asks for the password',
    );
  if (input.isTTY) voice.remark(`Password, at least ${min_characters} characters (not shown), then Enter:`);
  const password = await firstLine(input);
  if (password.length < min_characters)
    throw new CommandMistake(`a password has at least ${min_characters} characters`);
  voice.print(await hashPassword(password));
}

/** Reads one line, without an echo on a terminal. */
async function firstLine(input: Input): Promise<string> {
  const output = new Writable({ write: (_, __, done) => done() });
  const lines = createInterface({ input, output, terminal: input.isTTY ?? false });
  try {
    for await (const line of lines) return line;
    return '';
  } finally {
    lines.close();
  }
}
