import type { ListedRow } from '../../../src/records/ledger-records.ts';
import type { Reply } from './clients/checks.ts';
import type { Kind, Request } from './clients/request.ts';
import type { GatewayProcess } from './gateway-process.ts';
import type { Call } from './provider-child.ts';

/** The fields of a log line that are checked. */
export interface LogLine {
  readonly level: number;
  readonly request_id?: string;
  readonly msg?: string;
  readonly endpoint?: string;
  readonly end_reason?: string;
  readonly status?: number;
  readonly completion_tokens?: number;
}

/** A call as its provider reported it. */
export interface ProviderCall extends Omit<Call, 'at' | 'call' | 'id'> {
  readonly begun_ms: number;
  readonly queued: boolean;
  text_ms?: number;
}

/** One request, and what each side has reported of it. */
export interface Exchange {
  readonly kind: Kind;
  readonly gateway: GatewayProcess;
  readonly begun_ms: number;
  readonly onRecord: () => void;
  readonly calls: ProviderCall[];
  request: Request | undefined;
  ended_ms?: number;
  /** Its client has left before it had the whole reply. */
  has_left?: boolean;
  reply?: Pick<Reply, 'status'> & { readonly tokens: number | undefined };
  record?: LogLine;
  rows: number;
}

/** A call that begins this long after the first text of another cannot be a failover from it. */
export const surely_later_ms = 500;
/** Clients that behave like this do not receive the whole reply. */
const leaving = [
  'leave_ms',
  'leave_events',
  'leave_characters',
  'leave_at_done',
  'send_bytes',
  'stall',
] as const;

/** Whether the client leaves before it has the whole reply. */
export const hasLeft = ({ request }: Exchange): boolean =>
  leaving.some(name => request?.[name] !== undefined);

/** Its instance was down during the exchange or at most `before_ms` after it. */
export function isExcused({ gateway, begun_ms, ended_ms }: Exchange, before_ms = 0): boolean {
  const last_ms = (ended_ms ?? Number.POSITIVE_INFINITY) + before_ms;
  return gateway.absences.some(({ from_ms, until_ms }) => last_ms >= from_ms && begun_ms <= until_ms);
}

export const nameOf = ([id, { kind }]: [string, Exchange]): string => `${id} (${kind.name})`;

const hasText = ({ text_ms }: ProviderCall): boolean => text_ms !== undefined;

export const isLost = ({ rows, calls }: Exchange): boolean => rows === 0 && calls.some(hasText);

const isRepeated = ({ begun_ms, queued }: ProviderCall, calls: readonly ProviderCall[]): boolean =>
  !queued && calls.some(({ text_ms = Number.POSITIVE_INFINITY }) => begun_ms > text_ms + surely_later_ms);

/** Two rows, or a call after the first text of another one had left. */
export const isDoubled = ({ rows, calls }: Exchange): boolean =>
  rows > 1 || calls.some(call => isRepeated(call, calls));

/** What the log record of an exchange says otherwise than its reply, or than its kind permits. */
export function recordFaults(
  { endings }: Kind,
  reply: NonNullable<Exchange['reply']>,
  record: LogLine,
): string[] {
  const { end_reason = '', status, completion_tokens } = record;
  const { status: answered, tokens } = reply;
  return [
    !endings.some(ending => ending === end_reason) &&
      `is recorded as ${end_reason} instead of ${endings.join(' or ')}`,
    answered !== 0 && answered !== status && `was answered ${answered} and is recorded with ${status}`,
    tokens !== undefined &&
      tokens !== completion_tokens &&
      `was told ${tokens} tokens and is recorded with ${completion_tokens}`,
  ].filter(fault => fault !== false);
}

/** The call that has answered: one that hung may begin to answer after another has. */
export const answeringCall = ({ calls }: Exchange): ProviderCall | undefined =>
  calls.find(({ finished }) => finished) ?? calls.find(hasText);

/** How the tokens of a ledger row differ from those that its provider reported; of a broken answer it may have fewer. */
export function tokenFault(row: Omit<ListedRow, 'request_id'>, call: ProviderCall): string | undefined {
  const { prompt_tokens, completion_tokens = 0, finished } = call;
  const differs =
    row.end_reason === 'completed' && finished
      ? row.prompt_tokens !== prompt_tokens || row.completion_tokens !== completion_tokens
      : row.completion_tokens > completion_tokens;
  const ledger = `${row.prompt_tokens} + ${row.completion_tokens} tokens in the ledger`;
  return differs ? `has ${ledger}, and its provider told ${prompt_tokens} + ${completion_tokens}` : undefined;
}
