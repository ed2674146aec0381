import { Command, CommanderError } from 'commander';
import { version } from '../common/version.ts';
import { simulateCommand } from '../simulator/command.ts';
import { accountsCommand } from './accounts-command.ts';
import { adminApiCommand } from './admin-api-command.ts';
import { adminKeysCommand } from './admin-keys-command.ts';
import { auditCommand } from './audit-command.ts';
import { UsageMistake, type Voice } from './command.ts';
import { addGuide } from './command-guide.ts';
import { completionCommand } from './completion-command.ts';
import { checkCommand, modelsCommand, printConfigCommand, schemaCommand } from './config-commands.ts';
import { doctorCommand } from './doctor-command.ts';
import { hashPasswordCommand } from './hash-password-command.ts';
import { importCommand } from './import-command.ts';
import { initCommand } from './init-command.ts';
import { keysCommand } from './keys-command.ts';
import { ledgerCommand } from './ledger-command.ts';
import { noticesCommand } from './notices-command.ts';
import { providersCommand } from './providers-command.ts';
import { reloadCommand } from './reload-command.ts';
import { serveCommand } from './serve-command.ts';
import { onSignal } from './signals.ts';
import { usageCommand } from './usage-command.ts';
import { setV8Flags } from './v8-flags.ts';
import { watchStarter } from './watch-starter.ts';

const overview = `
Examples:
  sluice                                     serve a demo: the example catalog in front of a simulated server
  sluice --port N --admin-port N             the same at other ports than 8080 and 8081; 0 takes a free one
  sluice init                                write a first configuration
  sluice --config FILE                       serve a configuration
  sluice check --config FILE                 list everything that is wrong with a configuration
  sluice doctor --config FILE                reach what it names, and say what is wrong
  sluice keys create --account NAME --config FILE
  sluice completion bash >> ~/.bashrc        completion of commands and options

Exit codes:
  0   done
  1   refused or failed: a mistake in the configuration, a store that is down; the help of a command says more
  2   the command line is wrong: an unknown command or option, a missing argument, a value that is not accepted
Results go to standard output, everything else to standard error.

Environment:
  PORT, HOST                     where to listen, unless --port, --host or the configuration says it
  UPSTREAM_URL                   for the demo: an OpenAI-compatible server instead of the simulated one
  UPSTREAM_KEY                   the key to send to it
  UPSTREAM_ADAPTER               how to speak to it: vllm (default) or openai
  OTEL_EXPORTER_OTLP_ENDPOINT    where traces go, with OpenTelemetry's other OTEL_* variables; no traces without it`;

/** Runs a command line without the word `sluice`. Rejects with a UsageMistake if it is invalid, and with a CommandMistake if it is refused. */
export async function runCommandLine(args: readonly string[], voice: Voice): Promise<void> {
  try {
    await createProgram(voice).parseAsync(args, { from: 'user' });
  } catch (thrown) {
    // Help has been printed.
    if (!(thrown instanceof CommanderError)) throw thrown;
  }
}

/** All commands of `sluice`, with their options and help. */
export function createProgram(voice: Voice): Command {
  const program = new Command('sluice')
    .description('middleware in front of LLM inference providers')
    .addCommand(serveCommand(), { isDefault: true })
    .addCommand(initCommand(voice))
    .addCommand(importCommand(voice))
    .addCommand(checkCommand(voice))
    .addCommand(doctorCommand(voice))
    .addCommand(printConfigCommand(voice))
    .addCommand(modelsCommand(voice))
    .addCommand(schemaCommand(voice))
    .addCommand(simulateCommand(announceServer, endBySignal))
    .addCommand(keysCommand(voice))
    .addCommand(accountsCommand(voice))
    .addCommand(providersCommand(voice))
    .addCommand(adminKeysCommand(voice))
    .addCommand(adminApiCommand(voice))
    .addCommand(reloadCommand(voice))
    .addCommand(usageCommand(voice))
    .addCommand(ledgerCommand(voice))
    .addCommand(auditCommand(voice))
    .addCommand(noticesCommand(voice))
    .addCommand(hashPasswordCommand(voice))
    .version(`sluice ${version} (Node ${process.versions.node})`, '-V, --version', 'print the version')
    .addHelpText('after', overview);
  program.addCommand(completionCommand(program, voice));
  for (const command of program.commands) addGuide(command);
  throwMistakes(program, voice.print);
  return program;
}

function endBySignal(simulator: { close(): Promise<void> }): void {
  onSignal({ close: () => simulator.close() });
  watchStarter(process.env);
}

/** Logs where the simulator listens, which is the first line, and says more about it on the further ones. It serves from now on. */
async function announceServer(text: string): Promise<void> {
  setV8Flags();
  const { ProcessLog } = await import('./process-log.ts');
  const [message = '', ...details] = text.split('\n').map(line => line.trim());
  new ProcessLog().announce({ details }, message, text.slice(text.indexOf('\n') + 1));
}

/** Lets a command and those below it print help through `print`, and throw mistakes instead of ending the process. */
export function throwMistakes(command: Command, print: Voice['print']): void {
  command
    .configureOutput({
      writeOut: text => print(text.trimEnd()),
      writeErr: () => {},
      getOutHelpWidth: () => 110,
    })
    .exitOverride(error => {
      // `sluice keys` alone lists its commands.
      if (error.code === 'commander.help' && error.exitCode !== 0) command.outputHelp();
      else if (error.exitCode !== 0)
        throw new UsageMistake(
          `${pathOf(command)}: ${error.message.replace(/^error: /, '')}\n\n${command.helpInformation().trimEnd()}`,
        );
      throw error;
    });
  for (const child of command.commands) throwMistakes(child, print);
}

/** Full name of a command, such as `sluice keys create`. */
const pathOf = (command: Command): string =>
  command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
