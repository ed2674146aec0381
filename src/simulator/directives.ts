import { ERROR_SHAPES } from './error-body.ts';
import { REASONING_MODES, USAGE_MODES } from './options.ts';
import { decimal, integer, oneOf, text, type ValueKind } from './value-kind.ts';

/** Position of a fault before anything is sent; other positions count the chunks sent before it. */
export const BEFORE_HEADERS = -1;

interface DirectiveEntry<T> {
  readonly group: 'reply' | 'pace' | 'failure';
  readonly help: string;
  /** Format of the value; undefined for a directive without one. */
  readonly kind?: ValueKind<T>;
  /** The value when the directive is written without one; absent when it needs one. */
  readonly bare?: T;
}

const entryOf =
  (group: DirectiveEntry<unknown>['group']) =>
  <T>(help: string, kind: ValueKind<T>, bare?: NoInfer<T>): DirectiveEntry<T> => ({
    group,
    help,
    kind,
    ...(bare !== undefined && { bare }),
  });
const flag = (group: DirectiveEntry<unknown>['group'], help: string): DirectiveEntry<true> => ({
  group,
  help,
  bare: true,
});
const [reply, pace, failure] = [entryOf('reply'), entryOf('pace'), entryOf('failure')];

/** A number of tokens, or of the chunks before a fault. */
const count = (label: string): ValueKind<number> => integer(0, Number.MAX_SAFE_INTEGER, label);
const answerTokens: ValueKind<number> = {
  ...count('N|endless'),
  expects: 'an integer of at least 0, or endless',
  read: value => (value === 'endless' ? Number.POSITIVE_INFINITY : count('N').read(value)),
};

/** The one table behind the type of directives, their reading and `--help`. */
export const DIRECTIVES = {
  say: reply('The exact answer: everything after say= up to ]]. With a failure: its message.', text('TEXT')),
  echo: flag('reply', 'The answer is the body of the request as it arrived.'),
  tokens: reply(
    'Length of the answer; endless goes on until max_tokens or until the client leaves.',
    answerTokens,
  ),
  reasoning_tokens: reply('Length of the reasoning.', count('N')),
  reasoning: reply('As the option reasoning.', oneOf(REASONING_MODES)),
  usage: reply('As the option usage.', oneOf(USAGE_MODES)),
  tool: reply(
    'Calls the tool of that name, or the first one, when the request offers tools.',
    text('NAME'),
    '',
  ),
  calls: reply('That many tool calls instead of one.', integer(1, 100)),
  finish: reply('Says this finish_reason whatever the true one is.', text('REASON')),
  ttft: pace('As the option ttft_ms.', decimal('MS')),
  tps: pace('As the option tokens_per_second.', decimal('N')),
  chunk: pace('As the option tokens_per_chunk.', integer(1)),
  status: failure('An error reply with this status.', integer(400, 599)),
  retry_after: failure('Its Retry-After header.', text('VALUE')),
  body: failure('The shape of the error body; vllm if not set.', oneOf(ERROR_SHAPES)),
  error200: flag('failure', 'An error body with HTTP status 200.'),
  html: flag('failure', 'HTTP 200 with an HTML page.'),
  json: flag('failure', 'A plain JSON completion although a stream was asked for.'),
  reset: failure('TCP reset after K chunks; without K before the headers.', count('K'), BEFORE_HEADERS),
  cut: failure(
    'The connection is closed in the middle of the body after K chunks; without K before the headers.',
    count('K'),
    BEFORE_HEADERS,
  ),
  stall: failure(
    'Nothing more is sent after K chunks (0: after the headers); the connection stays open.',
    count('K'),
    0,
  ),
  error: failure(
    'An error event after K chunks, then [DONE] as in vLLM; its code is status=, its form that of the servers that body= names.',
    count('K'),
    1,
  ),
  truncate: failure('A clean end after K chunks, without finish_reason and [DONE].', count('K'), 1),
  garbage: failure('One event of broken JSON after K chunks; the stream goes on.', count('K'), 1),
  no_done: flag('failure', 'Everything but the final [DONE].'),
};

/** Directives of one request. Undefined members leave the server's options in force. */
export type Directives = {
  readonly [K in keyof typeof DIRECTIVES]?: (typeof DIRECTIVES)[K] extends DirectiveEntry<infer T>
    ? T
    : never;
};

const MARK = /\[\[sim:(.*?)\]\]/gs;
const SAY = /(?:^|[\s,])say=/;

/** Reads every `[[sim:…]]` in the text; throws an Error that names the directive which is unknown or wrong. */
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
    throw new Error(
      `Unknown simulator directive '${key}'; accepted: ${Object.keys(DIRECTIVES).sort().join(', ')}.`,
    );
  }
  const entry: DirectiveEntry<unknown> = DIRECTIVES[key];
  const given = rest.join('=');
  if (given === '' && entry.bare !== undefined) return [key, entry.bare];
  const value = entry.kind?.read(given);
  if (value === undefined) {
    throw new Error(
      `Simulator directive '${key}' must be ${entry.kind?.expects ?? 'written without a value'}.`,
    );
  }
  return [key, value];
}

function isDirective(key: string): key is keyof Directives {
  return Object.hasOwn(DIRECTIVES, key);
}
