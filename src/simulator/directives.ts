import { ERROR_SHAPES, Refusal } from './error-body.ts';
import { OPTIONS } from './options.ts';
import { integer, oneOf, text, type ValueKind } from './value-kind.ts';

/** Position of a fault before anything is sent; other positions count the chunks sent before it. */
export const BEFORE_HEADERS = -1;

/** One directive. */
export interface DirectiveEntry<T> {
  readonly help: string;
  /** Format of the value; undefined for a directive without one. */
  readonly kind?: ValueKind<T>;
  /** The value when the directive is written without one; absent when it needs one. */
  readonly bare?: T;
}

const valued = <T>(help: string, kind: ValueKind<T>): DirectiveEntry<T> => ({ help, kind });
const optional = <T>(help: string, kind: ValueKind<T>, bare: NoInfer<T>): DirectiveEntry<T> => ({
  help,
  kind,
  bare,
});
const flag = (help: string): DirectiveEntry<true> => ({ help, bare: true });

/** A number of tokens, or of the chunks before a fault. */
const count = (label: string): ValueKind<number> => integer(0, Number.MAX_SAFE_INTEGER, label);
const answerTokens: ValueKind<number> = {
  ...count('N|endless'),
  expects: 'an integer of at least 0, or endless',
  read: value => (value === 'endless' ? Number.POSITIVE_INFINITY : count('N').read(value)),
};

/** The tables behind the type of directives, their reading and `--help`, by title. */
const REPLY = {
  say: valued('The exact answer: everything after say= up to ]]. With a failure: its message.', text('TEXT')),
  echo: flag('The answer is the body of the request as it arrived.'),
  tokens: valued(
    'Length of the answer; endless goes on until max_tokens or until the client leaves.',
    answerTokens,
  ),
  reasoning_tokens: valued('Length of the reasoning.', count('N')),
  reasoning: valued('As the option reasoning.', OPTIONS.reasoning.kind),
  usage: valued('As the option usage.', OPTIONS.usage.kind),
  tool: optional(
    'Calls the tool of that name, or the first one, when the request offers tools.',
    text('NAME'),
    '',
  ),
  calls: valued('That many tool calls instead of one.', integer(1, 100)),
  finish: valued('Says this finish_reason whatever the true one is.', text('REASON')),
};
const PACE = {
  ttft: valued('As the option ttft_ms.', OPTIONS.ttft_ms.kind),
  tps: valued('As the option tokens_per_second.', OPTIONS.tokens_per_second.kind),
  chunk: valued('As the option tokens_per_chunk.', OPTIONS.tokens_per_chunk.kind),
};
const FAILURE = {
  status: valued('An error reply with this status.', integer(400, 599)),
  retry_after: valued('Its Retry-After header.', text('VALUE')),
  body: valued('The shape of the error body; vllm if not set.', oneOf(ERROR_SHAPES)),
  error200: flag('An error body with HTTP status 200.'),
  html: flag('HTTP 200 with an HTML page.'),
  json: flag('A plain JSON completion although a stream was asked for.'),
  reset: optional('TCP reset after K chunks; without K before the headers.', count('K'), BEFORE_HEADERS),
  cut: optional(
    'The connection is closed in the middle of the body after K chunks; without K before the headers.',
    count('K'),
    BEFORE_HEADERS,
  ),
  stall: optional(
    'Nothing more is sent after K chunks (0: after the headers); the connection stays open.',
    count('K'),
    0,
  ),
  error: optional(
    'An error event after K chunks, then [DONE] as in vLLM; its code is status=, its form that of the servers that body= names.',
    count('K'),
    1,
  ),
  truncate: optional('A clean end after K chunks, without finish_reason and [DONE].', count('K'), 1),
  garbage: optional('One event of broken JSON after K chunks; the stream goes on.', count('K'), 1),
  no_done: flag('Everything but the final [DONE].'),
};
export const DIRECTIVE_GROUPS = { Replies: REPLY, Pace: PACE, Failures: FAILURE };
export const DIRECTIVES = { ...REPLY, ...PACE, ...FAILURE };

/** Directives of one request. Undefined members leave the server's options in force. */
export type Directives = {
  readonly [K in keyof typeof DIRECTIVES]?: (typeof DIRECTIVES)[K] extends DirectiveEntry<infer T>
    ? T
    : never;
};

const MARK = /\[\[sim:(.*?)\]\]/gs;
const SAY = /(?:^|[\s,])say=/;

/** Reads every `[[sim:…]]` in the text; throws a Refusal that names the directive which is unknown or wrong. */
export function findDirectives(message: string): Directives {
  let found: Directives = {};
  for (const [, inside = ''] of message.matchAll(MARK)) found = { ...found, ...readDirectives(inside) };
  return found;
}

/** The text without its directives. */
export function stripDirectives(message: string): string {
  return message.includes('[[sim:') ? message.replaceAll(MARK, '').trim() : message;
}

/** Reads the text between `[[sim:` and `]]`: `key=value` or bare keys, separated by spaces or commas. */
export function readDirectives(source: string): Directives {
  const say = SAY.exec(source);
  const words = (say === null ? source : source.slice(0, say.index))
    .split(/[\s,]+/)
    .filter(word => word !== '');
  const found = Object.fromEntries(words.map(readWord));
  return say === null ? found : { ...found, say: source.slice(say.index + say[0].length) };
}

function readWord(word: string): [string, unknown] {
  const [key = '', ...rest] = word.split('=');
  if (!isDirective(key)) {
    throw refused(
      `Unknown simulator directive '${key}'; accepted: ${Object.keys(DIRECTIVES).sort().join(', ')}.`,
    );
  }
  const { kind, bare }: DirectiveEntry<unknown> = DIRECTIVES[key];
  const given = rest.join('=');
  if (given === '' && bare !== undefined) return [key, bare];
  const value = kind?.read(given);
  if (value === undefined) {
    throw refused(`Simulator directive '${key}' must be ${kind?.expects ?? 'written without a value'}.`);
  }
  return [key, value];
}

const refused = (message: string) => new Refusal(400, message, 'messages');

function isDirective(key: string): key is keyof Directives {
  return Object.hasOwn(DIRECTIVES, key);
}
