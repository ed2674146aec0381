import { request } from 'node:http';
import { json } from 'node:stream/consumers';
import { Command } from 'commander';
import { adminSocketOf } from '../config/load-commands.ts';
import type { ReloadReply } from './admin-socket.ts';
import { CommandMistake, type Voice, withConfig } from './command.ts';

/** `sluice reload`. */
export const reloadCommand = ({ print, remark }: Voice): Command =>
  withConfig(new Command('reload'))
    .description('let the process that serves a configuration read it again, without an interruption')
    .action(async ({ config }: { config: string }) => {
      const socket = adminSocketOf(config);
      if (socket === undefined)
        throw new CommandMistake(
          `${config} has no admin.socket, at which the process could be asked. Send it SIGHUP (kill -HUP PID), and read the result in its log; or set admin: { socket: /run/sluice/admin.sock } and restart it`,
        );
      const { accepted, changed = [], needs_restart = [], warnings = [], mistakes = [] } = await ask(socket);
      for (const warning of warnings) remark(`warning: ${warning}`);
      if (!accepted)
        throw new CommandMistake(
          [
            `${config}: refused; the configuration before it serves on`,
            ...mistakes.map(one => `  ${one}`),
          ].join('\n'),
        );
      print(`${config}: accepted; changed: ${changed.join(', ') || 'nothing'}`);
      if (needs_restart.length > 0) print(`waits for a restart: ${needs_restart.join(', ')}`);
    });

/** Longest wait for the answer: plugins have 10 seconds each to load. */
const answer_ms = 60_000;

/** Asks the process that listens at `socketPath` to reload. Throws a CommandMistake if none answers within a minute. */
async function ask(socketPath: string): Promise<ReloadReply> {
  const { promise, resolve, reject } = Promise.withResolvers<ReloadReply>();
  const signal = AbortSignal.timeout(answer_ms);
  request({ socketPath, method: 'POST', path: '/reload', headers: { host: 'localhost' }, signal })
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
