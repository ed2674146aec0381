import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
/** Starting takes a second; a machine that is busy with other tests may need many. */
const start_ms = 25_000;

/** A program of the repository, once it has printed its address. */
export interface ExampleProcess {
  readonly url: string;
  /** Where `/metrics` is, of programs with an admin address. */
  readonly adminUrl: string | undefined;
  /** All that it has printed so far. */
  output(): string;
  /** SIGTERM, and the exit code. */
  stop(): Promise<number | null>;
}

const running: ExampleProcess[] = [];

/** Runs `node --conditions=sluice-source ARGUMENTS` and resolves when it has printed its address. */
export async function startExample(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<ExampleProcess> {
  const child = spawn(process.execPath, ['--conditions=sluice-source', ...args], {
    cwd: root,
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const exited = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject).once('close', resolve);
  });
  const [, url = '', adminUrl] = await firstLine(child, exited, text => (output += text));
  const example: ExampleProcess = {
    url,
    adminUrl,
    output: () => output,
    stop: () => {
      child.kill('SIGTERM');
      return exited;
    },
  };
  running.push(example);
  return example;
}

/** For afterEach. */
export async function stopExamples(): Promise<void> {
  await Promise.all(running.splice(0).map(example => example.stop()));
}

function firstLine(
  child: ChildProcess,
  exited: Promise<number | null>,
  keep: (text: string) => string,
): Promise<RegExpExecArray> {
  return new Promise((resolve, reject) => {
    let all = '';
    const fail = (why: string) => {
      clearTimeout(timer);
      child.kill('SIGKILL');
      reject(new Error(`${why}: ${all}`));
    };
    const timer = setTimeout(() => fail('it did not say where it listens'), start_ms);
    exited.then(code => fail(`it exited with ${code}`), reject);
    const look = (text: string) => {
      all = keep(text);
      const match = /listening on (http:\/\/\S+)(?: \(admin: (http:\/\/[^\s)]+)\))?\n/.exec(all);
      if (!match) return;
      clearTimeout(timer);
      resolve(match);
    };
    child.stdout?.setEncoding('utf8').on('data', look);
    child.stderr?.setEncoding('utf8').on('data', look);
  });
}
