import { json } from 'node:stream/consumers';
import { http } from '../common/node-http.ts';
import type { ReloadReply } from './admin-socket.ts';
import { CommandMistake } from './command.ts';

/** Longest wait for the answer: plugins have 10 seconds each to load. */
const answer_ms = 60_000;

/** Asks the process that listens at `socketPath` to reload. Throws a CommandMistake if none answers within a minute. */
export async function askToReload(socketPath: string): Promise<ReloadReply> {
  const { promise, resolve, reject } = Promise.withResolvers<ReloadReply>();
  const signal = AbortSignal.timeout(answer_ms);
  http
    .request({ socketPath, method: 'POST', path: '/reload', headers: { host: 'localhost' }, signal })
    .on('response', reply => json(reply).then(body => resolve(body as ReloadReply), reject))
    .on('error', reject)
    .end();
  try {
    return await promise;
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const why = signal.aborted ? `nothing within ${answer_ms / 1000} s` : (code ?? message);
    throw new CommandMistake(`no gateway answers at ${socketPath}: ${why}`, { cause });
  }
}
