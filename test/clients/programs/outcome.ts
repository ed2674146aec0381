import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { ReceivedRequest, Simulator } from '../../../src/simulator/server.ts';
import { folderOf } from './install.ts';
import type { Place, Program } from './programs.ts';

/** How long a program may take in all. */
const limit_ms = 120_000;

/** What came of one run of a program. */
export interface Outcome {
  /** Exit code 0, the tool's sum reached the model, and its answer is in the output. */
  readonly works: boolean;
  /** Whether its output has the model's reasoning. */
  readonly shows_reasoning: boolean;
  /** Whether its output has the usage. */
  readonly shows_usage: boolean;
  /** Whether it sent the reasoning of its tool call back with the result. */
  readonly returns_reasoning: boolean;
  readonly always_streams: boolean;
  readonly requests: number;
  readonly output: string;
}

/** Runs a program with a home folder of its own, in front of `place`, whose upstream is `simulator`. */
export async function outcomeOf(
  program: Program,
  place: Place,
  simulator: Simulator,
  question?: string,
): Promise<Outcome> {
  const home = await mkdtemp(join(tmpdir(), 'sluice-client-'));
  const before = simulator.requests.length;
  try {
    const { code, output } = await finished(program, place, home, question);
    const requests = simulator.requests.slice(before);
    const isAnswered = program.answer
      ? program.answer.test(output)
      : /The tool returned/.test(output) && requests.some(hasSum);
    return {
      works: code === 0 && isAnswered,
      shows_reasoning: output.includes('The user mentions'),
      shows_usage: /"(input|prompt)(_tokens|Tokens)?":\s*[1-9]/.test(output),
      returns_reasoning: requests.some(returnsReasoning),
      always_streams: requests.every(({ body }) => (body as Asked).stream === true),
      requests: requests.length,
      output,
    };
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

interface Asked {
  readonly stream?: boolean;
  readonly messages: readonly {
    readonly role: string;
    readonly content?: unknown;
    readonly tool_calls?: unknown;
    readonly reasoning?: unknown;
    readonly reasoning_content?: unknown;
  }[];
}

const hasSum = ({ body }: ReceivedRequest): boolean =>
  (body as Asked).messages.some(
    ({ role, content }) => role === 'tool' && /(\W|\\n)191\b/.test(JSON.stringify(content)),
  );

const returnsReasoning = ({ body }: ReceivedRequest): boolean =>
  (body as Asked).messages.some(turn => turn.tool_calls && (turn.reasoning_content || turn.reasoning));

async function finished(
  program: Program,
  place: Place,
  home: string,
  question: string | undefined,
): Promise<{ code: number | null; output: string }> {
  const { files, environment, command, input = '' } = program;
  const [file, ...args] = command;
  const work = join(home, 'work');
  await mkdir(work);
  for (const [path, content] of Object.entries(files(place))) {
    const target = path.startsWith('~/') ? join(home, path.slice(2)) : join(work, path);
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, content);
  }
  const inFolder = (word: string) =>
    /^node_modules\/|\.mjs$/.test(word) ? join(folderOf(program), word) : word;
  const child = spawn(inFolder(file), args.map(inFolder), {
    cwd: work,
    env: {
      PATH: process.env.PATH,
      HOME: home,
      TERM: 'dumb',
      CI: '1',
      ...environment(place),
      ...(question && { CLIENT_QUESTION: question }),
    },
    timeout: limit_ms,
    killSignal: 'SIGKILL',
  });
  child.stdin.end(input);
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject).once('close', resolve);
  });
  const [code, out, errors] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
  return { code, output: out + errors };
}
