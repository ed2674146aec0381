import { parseArgs } from 'node:util';
import { nearestName } from '../diagnostics/suggestion.ts';
import { helpLines, optionFlag } from './help.ts';
import { OPTION_NAMES, OPTIONS, type SimulatorOptions } from './options.ts';
import { type Simulator, startSimulator } from './server.ts';

/**
 * Runs `sluice simulate` with the arguments after that word. Resolves with the running server, or with undefined
 * after `--help`; rejects with an Error whose message says what is wrong and what is accepted.
 */
export async function runSimulate(
  argv: string[],
  print: (line: string) => void,
): Promise<Simulator | undefined> {
  const { help, ...given } = readFlags(argv);
  if (help === true) {
    for (const line of helpLines()) print(line);
    return undefined;
  }
  const options = readOptions(given);
  const simulator = await startSimulator(options);
  print(`Simulated vLLM server: ${simulator.url}`);
  print(`  models     ${options.models?.join(', ') ?? 'any name'}`);
  print(`  key        ${options.api_key === undefined ? 'not asked for' : 'asked for'}`);
  print(
    '  directives in the last user message, e.g. [[sim:status=503]]; all of them: sluice simulate --help',
  );
  return simulator;
}

function readFlags(argv: string[]): Record<string, string | boolean | undefined> {
  const flags = OPTION_NAMES.map(name => [optionFlag(name).slice(2), { type: 'string' }] as const);
  try {
    const { values } = parseArgs({
      args: argv,
      options: { ...Object.fromEntries(flags), help: { type: 'boolean', short: 'h' } },
      allowPositionals: false,
    });
    return values as Record<string, string | boolean | undefined>;
  } catch (error) {
    const accepted = [...OPTION_NAMES.map(optionFlag), '--help'];
    const why = firstSentence(error);
    const nearest = nearestName(/'(-[^']*)'/.exec(why)?.[1] ?? '', accepted);
    const hint = nearest === undefined ? '' : ` Did you mean '${nearest}'?`;
    throw new Error(`${why}${hint} Accepted: ${accepted.join(', ')}.`, { cause: error });
  }
}

function readOptions(given: Record<string, string | boolean | undefined>): Partial<SimulatorOptions> {
  const entries = Object.entries(given).map(([flag, text]) => {
    const name = flag.replaceAll('-', '_') as keyof SimulatorOptions;
    const { kind } = OPTIONS[name];
    const value = kind.read(String(text));
    if (value === undefined) throw new Error(`--${flag} must be ${kind.expects}, not '${String(text)}'.`);
    return [name, value] as const;
  });
  return Object.fromEntries(entries);
}

/** What follows in Node's message is advice about positional arguments, of which there are none. */
function firstSentence(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return `${message.split(/\.(?:\s|$)/)[0] ?? message}.`;
}
