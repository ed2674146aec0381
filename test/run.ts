import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** What `npm test` runs: jest, and without arguments also the client libraries, each in a Node of its own. */
export const commandsOf = (args: readonly string[]): string[][] => [
  [
    '--experimental-vm-modules',
    '--conditions=sluice-source',
    '--no-warnings',
    'node_modules/jest/bin/jest.js',
    ...args,
  ],
  ...(args.length > 0 ? [] : [['--conditions=sluice-source', 'test/clients/run.ts']]),
];

/** Runs one to its end, with the signals that reach this process; resolves with its exit code. */
function ended(command: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, command, { stdio: 'inherit' });
  const pass = (signal: NodeJS.Signals) => child.kill(signal);
  process.on('SIGTERM', pass).on('SIGINT', pass);
  return new Promise((resolve, reject) => {
    child.once('error', reject).once('exit', code => resolve(code ?? 1));
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  for (const command of commandsOf(process.argv.slice(2)))
    process.exitCode = (await ended(command)) || process.exitCode;
