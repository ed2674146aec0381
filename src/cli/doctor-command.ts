import { Command } from 'commander';
import type { Finding } from '../common/finding.ts';
import { CommandMistake, type Voice, withConfig } from './command.ts';
import { textOrJson } from './config-commands.ts';

interface DoctorOptions {
  readonly config: string;
  readonly generate?: boolean;
  readonly format: 'text' | 'json';
}

/** `sluice doctor`. */
export const doctorCommand = ({ print }: Voice): Command =>
  withConfig(new Command('doctor'))
    .description(
      'reach each provider, store and collector of a configuration, and say what is wrong and what to do',
    )
    .option('--generate', 'also ask each upstream model for one token, which may cost something')
    .addOption(textOrJson())
    .addHelpText(
      'after',
      `
Looks at:
  configuration      all that sluice check looks at
  each provider      connection, TLS and its certificate, each key, whether its list has the configured models
  state store        Redis: version, latency, eviction policy, scripts, whether it is the primary
  records store      may be written, schema version, free disk
  addresses          free, or held by a running sluice
  OTLP collector     a request without spans, by the protocol of the OTEL_* variables
  OpenID issuer      its description names itself
  clock, open files, Node

Changes nothing: no migration, no table, no row. Without --generate nothing is generated. Prints no secrets.
A model that vLLM does not list is a fault; with other servers it is a warning, because they serve names that
they do not list.`,
    )
    .action(async ({ config: file, generate = false, format }: DoctorOptions) => {
      const { diagnose } = await import('./doctor/diagnose.ts');
      const findings = await diagnose(file, generate);
      const faults = findings.filter(({ status }) => status === 'fault').length;
      const warnings = findings.filter(({ status }) => status === 'warning').length;
      if (format === 'json') print(JSON.stringify({ ok: faults === 0, file, findings }, null, 2));
      else {
        for (const finding of findings) print(shown(finding));
        print(`\n${counted(faults, 'fault')}, ${counted(warnings, 'warning')}`);
      }
      if (faults > 0) throw new CommandMistake('');
    });

/** One line for what is well, and a second one with what to do. */
function shown({ status, thing, found, remedy }: Finding): string {
  const line = `${status.padEnd(8)} ${thing}: ${found}`;
  return remedy === undefined ? line : `${line}\n${' '.repeat(9)}→ ${remedy}`;
}

const counted = (count: number, what: string): string =>
  `${count === 0 ? 'no' : count} ${what}${count === 1 ? '' : 's'}`;
