import { createInterface } from 'node:readline/promises';
import type { Readable, Writable } from 'node:stream';
import { CommandMistake } from '../command.ts';

/** A terminal, or what stands for one. */
export interface Terminal {
  readonly input: Readable & { readonly isTTY?: boolean };
  readonly output: Writable;
}

/** Asks `question`, with the answer of an empty line. Throws a CommandMistake when the input ends, as by Ctrl-C or Ctrl-D. */
export type Ask = (question: string, initial?: string) => Promise<string>;

/** Lets `work` ask on a terminal, line by line. */
export async function asking<T>({ input, output }: Terminal, work: (ask: Ask) => Promise<T>): Promise<T> {
  const lines = createInterface({ input, output });
  const ended = new Promise<never>((_, reject) => {
    lines.once('close', () => reject(new CommandMistake('\nended without an answer; nothing was written')));
  });
  // Not only while a question waits.
  ended.catch(() => {});
  try {
    return await work(async (question, initial = '') => {
      const text = await Promise.race([
        lines.question(initial ? `${question} [${initial}] ` : `${question} `),
        ended,
      ]);
      return text.trim() || initial;
    });
  } finally {
    lines.close();
  }
}
