import { exitCodeOf } from './command.ts';
import { runCommandLine } from './program.ts';
import { setV8Flags } from './v8-flags.ts';

// At the end of a terminal session; Node's default would end the process.
process.on('SIGHUP', () => {});
process.stderr.on('error', ignoreClosedPipe);

/** The reader of a result, such as `head`, may have had enough. */
function ignoreClosedPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
}

function print(text: string): void {
  // Not while serving: the log has a listener of its own, and goes on.
  if (!process.stdout.listeners('error').includes(ignoreClosedPipe))
    process.stdout.on('error', ignoreClosedPipe);
  process.stdout.write(`${text}\n`);
}

// The primary process of `server.workers` has started this one, if there is a pipe to it.
const done =
  process.env.SLUICE_WORKER !== undefined && process.connected
    ? import('./worker.ts').then(({ serveAsWorker }) => {
        setV8Flags();
        return serveAsWorker();
      })
    : runCommandLine(process.argv.slice(2), {
        print,
        remark: text => void process.stderr.write(`${text}\n`),
      });
done.catch(thrown => {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  if (message !== '') process.stderr.write(`${message}\n`);
  process.exit(exitCodeOf(thrown));
});
