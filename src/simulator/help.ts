import { DIRECTIVES, type Directives } from './directives.ts';
import { OPTION_NAMES, OPTIONS, type SimulatorOptions } from './options.ts';

const WIDTH = 110;

const INTRODUCTION = `sluice simulate [options]

A stand-in for vLLM's OpenAI-compatible server: real sockets, real SSE, no model. The answer to a request is
prose made up from a hash of its messages, so the same request always gets the same answer. Tokens are counted
by a fixed splitter, and usage is exact for it.

  GET  /v1/models              POST /v1/chat/completions (stream or not)
  GET  /health                 GET  /version

Options`;

const DIRECTIVE_INTRODUCTION = `Directives

A request says how it wants to be treated in the text of its last user message, so that the wish travels
through any gateway: [[sim:key=value key=value]]. There may be several; they are not quoted in the answer.
"Chunks" are SSE events, and the one with the role is the first. In a reply that is not streamed every fault
strikes in the middle of the body.`;

const EXAMPLES = `Examples

  sluice simulate --port 8000 --ttft-ms 300 --tokens-per-second 50
  sluice simulate --port 8000 --reasoning tags --fail-rate 0.1 --fail "status=429 retry_after=3"

  "Tell me about rivers. [[sim:tokens=200 tps=20]]"       a long, slow answer
  "What is the weather? [[sim:tool]]"                     calls the first tool that is offered
  "Hello [[sim:reset=5]]"                                 the connection is reset after five chunks
  "Hello [[sim:status=429 retry_after=3 body=openrouter]]"
  "Hello [[sim:reasoning=none say=<think>no tags</think> please]]"`;

const GROUPS = [
  ['reply', 'What is answered'],
  ['pace', 'How fast'],
  ['failure', 'What goes wrong'],
] as const;

/** The complete documentation that `--help` prints: every option and every directive, from their tables. */
export function helpLines(): string[] {
  const options = OPTION_NAMES.map(name => [flagUsage(name), optionHelp(name)] as const);
  const groups = GROUPS.flatMap(([group, title]) => ['', `${title}:`, ...columns(directiveRows(group))]);
  return [
    ...INTRODUCTION.split('\n'),
    '',
    ...columns([...options, ['--help', 'Prints this.']]),
    '',
    ...DIRECTIVE_INTRODUCTION.split('\n'),
    ...groups,
    '',
    ...EXAMPLES.split('\n'),
  ];
}

/** The command line flag of an option. */
export function optionFlag(name: keyof SimulatorOptions): string {
  return `--${name.replaceAll('_', '-')}`;
}

function flagUsage(name: keyof SimulatorOptions): string {
  const { label } = OPTIONS[name].kind;
  return `${optionFlag(name)} ${label.includes('|') ? 'MODE' : label}`;
}

function optionHelp(name: keyof SimulatorOptions): string {
  const { initial, kind, help } = OPTIONS[name];
  const modes = kind.label.includes('|') ? ` One of ${kind.label.replaceAll('|', ', ')}.` : '';
  const isSet = initial !== null && !Array.isArray(initial);
  return `${help}${modes}${isSet ? ` [${String(initial)}]` : ''}`;
}

function directiveRows(group: (typeof GROUPS)[number][0]): [string, string][] {
  const names = Object.keys(DIRECTIVES) as (keyof Directives)[];
  return names
    .filter(name => DIRECTIVES[name].group === group)
    .map(name => {
      const { kind, bare, help } = DIRECTIVES[name];
      const modes = kind && kind.label.length > 12 ? ` One of ${kind.label.replaceAll('|', ', ')}.` : '';
      const value = kind && (modes === '' ? kind.label : 'MODE');
      const usage =
        value === undefined ? name : bare === undefined ? `${name}=${value}` : `${name}[=${value}]`;
      return [usage, help + modes];
    });
}

/** Two columns, the second one wrapped. */
function columns(rows: readonly (readonly [string, string])[]): string[] {
  const left = Math.max(...rows.map(([name]) => name.length)) + 4;
  return rows.flatMap(([name, help]) =>
    wrap(help, WIDTH - left).map((line, index) => (index === 0 ? `  ${name}` : '').padEnd(left) + line),
  );
}

function wrap(text: string, width: number): string[] {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? '';
    if (line !== '' && line.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines;
}
