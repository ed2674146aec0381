import { Command, Help, InvalidArgumentError } from 'commander';
import { DIRECTIVE_GROUPS, type DirectiveEntry } from './directives.ts';
import { OPTION_NAMES, OPTIONS, type SimulatorOptions } from './options.ts';
import type { Simulator } from './server.ts';

const introduction = `A stand-in for vLLM's OpenAI-compatible server, and for Anthropic's: real sockets, real SSE, no model. The
answer to a request is prose made up from a hash of its messages: the same request always gets the same
answer. A fixed splitter counts tokens, and usage is exact for it.

  GET  /v1/models              POST /v1/chat/completions (stream or not)
  GET  /health                 POST /v1/messages (stream or not)
  GET  /version                POST /v1/messages/count_tokens
  POST /v1/completions (stream or not)     POST /v1/embeddings     POST /v1/rerank`;

const directive_introduction = `
Directives

A request says how it is to be treated in the text of its last user message, so that this passes any gateway:
[[sim:key=value key=value]]. There may be several; they are not quoted in the answer. "Chunks" are SSE events,
and the one with the role is the first. In a reply that is not streamed every fault strikes in the middle.`;

const examples = `
Examples

  sluice simulate --port 8000 --ttft-ms 300 --tokens-per-second 50
  sluice simulate --port 8000 --reasoning tags --fail-rate 0.1 --fail "status=429 retry_after=3"

  "Tell me about rivers. [[sim:tokens=200 tps=20]]"       a long, slow answer
  "What is the weather? [[sim:tool]]"                     calls the first tool that is offered
  'List it. [[sim:tool=bash args={"command":"ls"}]]'      calls that tool with these arguments, then answers
  '[[sim:step tool=read]] [[sim:step tool=write]]'        calls one after the other, then answers
  "[[sim:require_reasoning]]"                             wants the reasoning of tool calls back
  "Hello [[sim:reset=5]]"                                 the connection is reset after five chunks
  "Hello [[sim:status=429 retry_after=3 body=openrouter]]"
  "Hello [[sim:reasoning=none say=<think>no tags</think> please]]"`;

/** `sluice simulate`. Its server is loaded when it starts, and then given to `onStart`. */
export function simulateCommand(
  print: (text: string) => void,
  onStart: (simulator: Simulator) => void,
): Command {
  const given: Record<string, unknown> = {};
  const command = new Command('simulate').description('run the simulated inference server alone');
  for (const name of OPTION_NAMES) {
    command.option(
      `${optionFlag(name)} <${placeholder(OPTIONS[name].kind.label)}>`,
      optionHelp(name),
      text => {
        given[name] = optionValue(name, text);
      },
    );
  }
  return command
    .addHelpText('before', `${introduction}\n`)
    .addHelpText('after', directiveHelp)
    .action(async () => {
      const { startSimulator } = await import('./server.ts');
      const options: Partial<SimulatorOptions> = given;
      const simulator = await startSimulator(options);
      print(`Simulated vLLM server: ${simulator.url}
  models     ${options.models?.join(', ') ?? 'any name'}
  key        ${options.api_key === undefined ? 'none' : 'required'}
  directives in the last user message, e.g. [[sim:status=503]]; all of them: sluice simulate --help`);
      onStart(simulator);
    });
}

/** The command line flag of an option. */
export const optionFlag = (name: keyof SimulatorOptions): string => `--${name.replaceAll('_', '-')}`;

function optionValue(name: keyof SimulatorOptions, text: string): unknown {
  const { kind } = OPTIONS[name];
  const value = kind.read(text);
  if (value === undefined)
    throw new InvalidArgumentError(`${optionFlag(name)} must be ${kind.expects}, not '${text}'.`);
  return value;
}

/** Long lists of words are written in the description instead. */
const placeholder = (label: string): string => (label.length > 12 ? 'MODE' : label);
const modesOf = (label: string): string =>
  placeholder(label) === label ? '' : ` One of ${label.replaceAll('|', ', ')}.`;

function optionHelp(name: keyof SimulatorOptions): string {
  const { initial, kind, help } = OPTIONS[name];
  const isSet = initial !== null && !Array.isArray(initial);
  return `${help}${modesOf(kind.label)}${isSet ? ` [${String(initial)}]` : ''}`;
}

/** Every directive, from its table. */
function directiveHelp(): string {
  const help = new Help();
  help.helpWidth = 110;
  const sections = Object.entries(DIRECTIVE_GROUPS).map(([title, directives]) => {
    const rows = Object.entries<DirectiveEntry<unknown>>(directives).map(([name, entry]) => {
      const modes = modesOf(entry.kind?.label ?? '');
      return help.formatItem(directiveUsage(name, entry), usage_width, entry.help + modes, help);
    });
    return `\n${title}:\n${rows.join('\n')}`;
  });
  return [directive_introduction, ...sections, examples].join('\n');
}

const usage_width = 'require_signatures[=MODE]'.length;

function directiveUsage(name: string, { kind, bare }: DirectiveEntry<unknown>): string {
  if (!kind) return name;
  const value = `=${placeholder(kind.label)}`;
  return name + (bare === undefined ? value : `[${value}]`);
}
