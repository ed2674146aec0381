import type { ListedRow } from '../../../src/plugin.ts';
import type { PageRequest } from '../page-request.ts';
import type { Scope } from '../scope.ts';
import { linkOf, muted, numberOf, secondOf, secondsOf } from './format.ts';
import { type Html, html } from './html.ts';
import { accountColumn } from './key-table.ts';
import { type Column, money, names, numbers } from './table.ts';

type RequestColumn = Column<ListedRow>;

/** What of a request its reader sees in a list that is made at `now_ms`. */
export const requestColumns = (
  { account, sees }: Scope,
  now_ms: number,
  { isPaid = false, isSortable = false } = {},
): readonly RequestColumn[] => {
  const orders = isSortable ? (['desc'] as const) : [];
  return [
    { ...timeColumn(now_ms), orders },
    idColumn,
    ...(account ? [] : [ofAccount]),
    keyColumn,
    model,
    ...(sees.internals ? [provider] : []),
    ending,
    firstToken,
    { ...duration, orders },
    ...tokens,
    ...(sees.money ? [{ ...cost, orders }] : []),
    ...(sees.margins && isPaid ? [paid] : []),
  ];
};

/** The same of the latest requests of one account. */
export const latestColumns = (scope: Scope, now_ms: number): readonly RequestColumn[] =>
  requestColumns(scope, now_ms).filter(
    ({ key = '', isExtra }) => !isExtra && !['request', 'account'].includes(key),
  );

/** Of today the time only. */
const timeColumn = (now_ms: number): RequestColumn => ({
  title: 'Time',
  key: 'time',
  cell: ({ started_ms, request_id }) =>
    html`<a class="folded" href="${linkOf('request', { id: request_id })}">${secondOf(started_ms, now_ms)}</a>`,
  csv: { time: ({ started_ms }) => new Date(started_ms).toISOString() },
});

const idColumn: RequestColumn = {
  title: 'Request',
  key: 'request',
  cell: ({ id, request_id }) => idText(`id-${id}`, request_id),
  csv: { request_id: ({ request_id }) => request_id },
};

/** An id that is cut where there is no room for it, with a button that copies it whole; `element` is unique on the page. */
export const idText = (element: string, id: string): Html =>
  html`<span class="id"><code id="${element}" title="${id}">${id}</code><button type="button" class="quiet" data-copy="${element}" aria-label="Copy ${id}">Copy</button></span>`;

/** Names of keys by their ids. */
export type KeyNames = ReadonlyMap<string, string>;

/** The names of the keys of `rows`, asked for at once. */
export async function keyNames(
  { context }: PageRequest,
  rows: readonly { readonly key_id?: string | null | undefined }[],
): Promise<KeyNames> {
  const ids = new Set(rows.flatMap(({ key_id }) => key_id ?? []));
  const named = await context.records.store.keys.named([...ids]);
  return new Map(named.map(({ id, name }) => [id, name]));
}

/** A key by its name, or else by its id. */
export const keyLink = (id: string, names: KeyNames): Html =>
  html`<a href="${linkOf('key', { id })}" title="${id}">${names.get(id) || html`<code>${id}</code>`}</a>`;

const ofAccount: RequestColumn = {
  ...accountColumn,
  key: 'account',
  csv: { account: ({ account }) => account },
};

const keyColumn: RequestColumn = {
  title: 'Key',
  key: 'key',
  isExtra: true,
  cell: ({ id, key_id }) =>
    key_id !== null && html`<a href="${linkOf('key', { id: key_id })}">${idText(`key-${id}`, key_id)}</a>`,
  csv: { key_id: ({ key_id }) => key_id },
};

const model: RequestColumn = names('Model', row => row.model ?? muted('none'), {
  key: 'model',
  csv: { model: row => row.model },
});

const provider: RequestColumn = names('Provider', row => row.provider ?? muted('none'), {
  key: 'provider',
  csv: { provider: row => row.provider },
});

const ending: RequestColumn = {
  title: 'End',
  key: 'end',
  cell: row =>
    row.error_message === null
      ? endOf(row)
      : html`${statusOf(row)} <span class="reason" title="${`${row.error_type ?? row.end_reason}: ${row.error_message}`}">${row.error_message}</span>`,
  csv: {
    status: ({ status }) => status,
    end_reason: ({ end_reason }) => end_reason,
    error_type: ({ error_type }) => error_type,
    error_message: ({ error_message }) => error_message,
  },
};

const inSeconds = (ms: number | null): number | null => ms && ms / 1000;

const firstToken: RequestColumn = numbers('First token', ({ first_token_ms }) => secondsOf(first_token_ms), {
  key: 'first_token',
  csv: { first_token_s: ({ first_token_ms }) => inSeconds(first_token_ms) },
});

const duration: RequestColumn = numbers('Duration', ({ duration_ms }) => secondsOf(duration_ms), {
  key: 'duration',
  csv: { duration_s: ({ duration_ms }) => inSeconds(duration_ms) },
});

const tokens: readonly RequestColumn[] = [
  numbers('Tokens in', ({ prompt_tokens }) => numberOf(prompt_tokens), {
    key: 'tokens_in',
    csv: { prompt_tokens: ({ prompt_tokens }) => prompt_tokens },
  }),
  numbers('Tokens out', ({ completion_tokens }) => numberOf(completion_tokens), {
    key: 'tokens_out',
    csv: { completion_tokens: ({ completion_tokens }) => completion_tokens },
  }),
];

const cost: RequestColumn = money('Cost', ({ cost_usd }) => cost_usd, {
  key: 'cost',
  csv: { cost_usd: ({ cost_usd }) => cost_usd },
});

const paid: RequestColumn = money('Paid', ({ paid_usd }) => paid_usd, {
  key: 'paid',
  csv: { paid_usd: ({ paid_usd }) => paid_usd },
});

type Ending = Pick<ListedRow, 'status' | 'end_reason' | 'error_type'>;

/** How a request ended: its status, and the end reason unless it was completed. */
export const endOf = (row: Ending): Html =>
  html`${statusOf(row)} ${row.end_reason !== 'completed' && row.end_reason} ${row.error_type && muted(row.error_type)}`;

function statusOf({ status, end_reason }: Ending): Html {
  const tone = end_reason === 'completed' ? 'good' : end_reason === 'client_gone' ? 'warn' : 'bad';
  return html`<span class="state ${tone}">${status === 0 ? 'no reply' : status}</span>`;
}
