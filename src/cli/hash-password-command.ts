import { createInterface } from 'node:readline/promises';
import type { Readable } from 'node:stream';
import { Writable } from 'node:stream';
import { hashPassword } from '../stores/accounts/password.ts';
import { asksForHelp, type Voice } from './command.ts';
import { CommandMistake } from './flags.ts';

const help = `sluice hash-password: the hash of a password, for admin.users in the configuration

  sluice hash-password             asks for the password, without showing it
  sluice hash-password < FILE      takes the first line of standard input

Prints scrypt:N:r:p:SALT:KEY, to be used as: admin: { users: { NAME: { password_hash: "…" } } }
`;

const min_characters = 12;

/** `sluice hash-password`. */
export async function hashPasswordCommand(
  args: readonly string[],
  voice: Voice,
  input: Readable & { isTTY?: boolean } = process.stdin,
): Promise<void> {
  if (asksForHelp(args)) return voice.print(help);
  if (args.length > 0)
    throw new CommandMistake(
      'sluice hash-password takes no argument: others could see it. It asks for the password',
    );
  if (input.isTTY) voice.remark(`Password, at least ${min_characters} characters (not shown), then Enter:`);
  const password = await firstLine(input);
  if (password.length < min_characters)
    throw new CommandMistake(`a password has at least ${min_characters} characters`);
  voice.print(await hashPassword(password));
}

/** What is typed is shown to nobody. */
async function firstLine(input: Readable & { isTTY?: boolean }): Promise<string> {
  const output = new Writable({ write: (_, __, done) => done() });
  const lines = createInterface({ input, output, terminal: input.isTTY ?? false });
  try {
    for await (const line of lines) return line;
    return '';
  } finally {
    lines.close();
  }
}
