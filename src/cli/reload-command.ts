import { Command } from 'commander';
import { CommandMistake, type Voice, withConfig } from './command.ts';

/** `sluice reload`. */
export const reloadCommand = ({ print, remark }: Voice): Command =>
  withConfig(new Command('reload'))
    .description('let the process that serves a configuration read it again, without an interruption')
    .action(async ({ config }: { config: string }) => {
      const [{ adminSocketOf }, { askToReload }] = await Promise.all([
        import('../config/load-commands.ts'),
        import('./ask-to-reload.ts'),
      ]);
      const socket = adminSocketOf(config);
      if (socket === undefined)
        throw new CommandMistake(
          `${config} has no admin.socket, at which the process could be asked. Send it SIGHUP (kill -HUP PID), and read the result in its log; or set admin: { socket: /run/sluice/admin.sock } and restart it`,
        );
      const {
        accepted,
        changed = [],
        needs_restart = [],
        warnings = [],
        mistakes = [],
      } = await askToReload(socket);
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
