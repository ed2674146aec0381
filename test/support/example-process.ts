import { fileURLToPath } from 'node:url';
import { PrintingProcess } from './printing-process.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

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
  const started = new PrintingProcess(process.execPath, ['--conditions=sluice-source', ...args], {
    cwd: root,
    env: { ...process.env, ...environment },
  });
  const { output, exited, signal } = started;
  const [, url = '', adminUrl] = await started.printed(
    /listening on (http:\/\/[^\s"]+)(?: \(admin: (http:\/\/[^\s)]+)\))?["\n]/,
  );
  const stop = () => {
    signal('SIGTERM');
    return exited;
  };
  const example = { url, adminUrl, output, stop };
  running.push(example);
  return example;
}

/** For afterEach. */
export async function stopExamples(): Promise<void> {
  await Promise.all(running.splice(0).map(example => example.stop()));
}
