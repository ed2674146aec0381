import { ERROR_SHAPES, Refusal } from './error-body.ts';
import { OPTIONS } from './options.ts';
import { integer, jsonObject, oneOf, text, type ValueKind } from './value-kind.ts';

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
  images: flag('The answer lists the images of the prompt as JSON: their kind and size, or their address.'),
  tokens: valued(
    'Length of the answer; endless goes on until max_tokens or until the client leaves.',
    answerTokens,
  ),
  reasoning_tokens: valued('Length of the reasoning.', count('N')),
  reasoning: valued('As the option reasoning.', OPTIONS.reasoning.kind),
  require_reasoning: optional(
    'As the option require_reasoning; reasoning_content if not set.',
    OPTIONS.require_reasoning.kind,
    'reasoning_content',
  ),
  require_signatures: optional(
    'As the option require_signatures; demanded if not set.',
    OPTIONS.require_signatures.kind,
    'demanded',
  ),
  usage: valued('As the option usage.', OPTIONS.usage.kind),
  cached_tokens: valued('As the option cached_tokens.', OPTIONS.cached_tokens.kind),
  cache_creation: valued('As the option cache_creation.', OPTIONS.cache_creation.kind),
  tool: optional(
    'Calls the tool of that name, or the first one, when the request offers tools.',
    text('NAME'),
    '',
  ),
  args: valued("The call's arguments: everything after args= up to ]].", jsonObject('JSON')),
  step: flag(
    'This pair of brackets holds for one step of a tool loop: the first one before any result, the second after one result, and so on.',
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
  body: valued(
    'The shape of the error body; vllm if not set, on /v1/messages anthropic.',
    oneOf(ERROR_SHAPES),
  ),
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
  no_done: flag('Everything but the final [DONE], or message_stop.'),
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
/** Directives that take the rest of their brackets. */
const REST = /(?:^|[\s,])(say|args)=/;

/**
 * Reads every `[[sim:…]]` in the text, those of a `step` only at that step of a tool loop, from 0; throws a Refusal that names the directive
 * which is unknown or wrong.
 */
export function findDirectives(message: string, step = 0): Directives {
  let found: Directives = {};
  let steps = 0;
  for (const [, inside = ''] of message.matchAll(MARK)) {
    const read = readDirectives(inside);
    if (!read.step || steps++ === step) found = { ...found, ...read };
  }
  return found;
}

/** The text without its directives. */
export function stripDirectives(message: string): string {
  return message.includes('[[sim:') ? message.replaceAll(MARK, '').trim() : message;
}

/** Reads the text between `[[sim:` and `]]`: `key=value` or bare keys, separated by spaces or commas. */
export function readDirectives(source: string): Directives {
  const rest = REST.exec(source);
  const words = (rest === null ? source : source.slice(0, rest.index))
    .split(/[\s,]+/)
    .filter(word => word !== '');
  const found = Object.fromEntries(words.map(readWord));
  if (rest === null) return found;
  const [key, value] = readWord(source.slice(rest.index + rest[0].length - `${rest[1]}=`.length));
  return { ...found, [key]: value };
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
