import { ERROR_SHAPES, type ErrorShape } from './error-body.ts';
import { REASONING_MODES, type ReasoningMode, USAGE_MODES, type UsageMode } from './options.ts';
import { decimal, integer, oneOf, text, type ValueKind } from './value-kind.ts';

/** Where a fault happens that comes before anything is sent; other places count the chunks sent before it. */
export const BEFORE_HEADERS = -1;

/** What one request asks the simulator to do. Absent members leave the server's options in force. */
export interface Directives {
  readonly status?: number;
  readonly retry_after?: string;
  readonly body?: ErrorShape;
  readonly error200?: true;
  readonly reset?: number;
  readonly cut?: number;
  readonly stall?: number;
  readonly error?: number;
  readonly truncate?: number;
  readonly garbage?: number;
  readonly no_done?: true;
  readonly html?: true;
  readonly json?: true;
  readonly ttft?: number;
  readonly tps?: number;
  readonly chunk?: number;
  readonly tokens?: number;
  readonly reasoning_tokens?: number;
  readonly reasoning?: ReasoningMode;
  readonly usage?: UsageMode;
  readonly finish?: string;
  /** '' calls the first tool. */
  readonly tool?: string;
  readonly calls?: number;
  readonly echo?: true;
  readonly say?: string;
}

interface DirectiveEntry<T> {
  readonly group: 'reply' | 'pace' | 'failure';
  readonly kind?: ValueKind<T>;
  /** The value when the directive is written without one; absent when it needs one. */
  readonly bare?: T;
  readonly help: string;
}

const anyCount = (label: string): ValueKind<number> => integer(0, Number.MAX_SAFE_INTEGER, label);
const answerTokens: ValueKind<number> = {
  ...anyCount('N|endless'),
  expects: 'an integer of at least 0, or endless',
  read: value => (value === 'endless' ? Number.POSITIVE_INFINITY : anyCount('N').read(value)),
};

/** The one table behind the reading of directives and `--help`. */
export const DIRECTIVES: { readonly [K in keyof Directives]-?: DirectiveEntry<NonNullable<Directives[K]>> } =
  {
    say: {
      group: 'reply',
      kind: text('TEXT'),
      help: 'The exact answer: everything after say= up to ]]. With a failure: its message.',
    },
    echo: { group: 'reply', bare: true, help: 'The answer is the body of the request as it arrived.' },
    tokens: {
      group: 'reply',
      kind: answerTokens,
      help: 'Length of the answer; endless goes on until max_tokens or until the client leaves.',
    },
    reasoning_tokens: { group: 'reply', kind: anyCount('N'), help: 'Length of the reasoning.' },
    reasoning: { group: 'reply', kind: oneOf(REASONING_MODES), help: 'As the option reasoning.' },
    usage: { group: 'reply', kind: oneOf(USAGE_MODES), help: 'As the option usage.' },
    tool: {
      group: 'reply',
      kind: text('NAME'),
      bare: '',
      help: 'Calls the tool of that name, or the first one, when the request offers tools.',
    },
    calls: { group: 'reply', kind: integer(1, 100), help: 'That many tool calls instead of one.' },
    finish: {
      group: 'reply',
      kind: text('REASON'),
      help: 'Says this finish_reason whatever the true one is.',
    },
    ttft: { group: 'pace', kind: decimal(0, Number.MAX_VALUE, 'MS'), help: 'As the option ttft_ms.' },
    tps: { group: 'pace', kind: decimal(0, Number.MAX_VALUE, 'N'), help: 'As the option tokens_per_second.' },
    chunk: {
      group: 'pace',
      kind: integer(1, Number.MAX_SAFE_INTEGER),
      help: 'As the option tokens_per_chunk.',
    },
    status: { group: 'failure', kind: integer(400, 599), help: 'An error reply with this status.' },
    retry_after: { group: 'failure', kind: text('VALUE'), help: 'Its Retry-After header.' },
    body: {
      group: 'failure',
      kind: oneOf(ERROR_SHAPES),
      help: 'The shape of the error body; vllm if not set.',
    },
    error200: { group: 'failure', bare: true, help: 'An error body with HTTP status 200.' },
    html: { group: 'failure', bare: true, help: 'HTTP 200 with an HTML page.' },
    json: { group: 'failure', bare: true, help: 'A plain JSON completion although a stream was asked for.' },
    reset: {
      group: 'failure',
      kind: anyCount('K'),
      bare: BEFORE_HEADERS,
      help: 'TCP reset after K chunks; without K before the headers.',
    },
    cut: {
      group: 'failure',
      kind: anyCount('K'),
      bare: BEFORE_HEADERS,
      help: 'The connection is closed in the middle of the body after K chunks; without K before the headers.',
    },
    stall: {
      group: 'failure',
      kind: anyCount('K'),
      bare: 0,
      help: 'Nothing more is sent after K chunks (0: after the headers); the connection stays open.',
    },
    error: {
      group: 'failure',
      kind: anyCount('K'),
      bare: 1,
      help: 'An error event after K chunks, then [DONE] as in vLLM; its code is status=, its form that of the servers that body= names.',
    },
    truncate: {
      group: 'failure',
      kind: anyCount('K'),
      bare: 1,
      help: 'A clean end after K chunks, without finish_reason and [DONE].',
    },
    garbage: {
      group: 'failure',
      kind: anyCount('K'),
      bare: 1,
      help: 'One event of broken JSON after K chunks; the stream goes on.',
    },
    no_done: { group: 'failure', bare: true, help: 'Everything but the final [DONE].' },
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

/** Reads what stands between `[[sim:` and `]]`: `key=value` or bare keys, separated by spaces or commas. */
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
