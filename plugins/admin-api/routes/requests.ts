import { z } from 'zod';
import {
  endReasons,
  errorClasses,
  type LedgerPlace,
  type LedgerRow,
  type ListedRow,
  no_model as none,
} from '../../../src/plugin.ts';
import { apiError } from '../api-error.ts';
import { givenTime, time, timeOf } from '../fields.ts';
import { listOf, pageFields } from '../page-of.ts';
import { seesMoney } from '../permissions.ts';
import { type Caller, defineRoute } from '../route.ts';

/** Rows that one page searches for what no index finds, however rare it is. */
const searched_rows = 20_000;

const text = z.string().min(1).max(300);
const textOrNull = z.string().nullable();
const numberOrNull = z.number().nullable();
const count = z.number().int();

const request = z
  .object({
    object: z.literal('request'),
    id: z.string().describe('Unique; clients choose `request_id`, and may use one again.'),
    request_id: z.string(),
    account: z.string(),
    key: textOrNull.describe('The key of the store that was used.'),
    model: textOrNull,
    requested_model: textOrNull.describe("The name that the client asked for, if it is not the model's."),
    provider: textOrNull.describe('The one that was asked last.'),
    endpoint: z.string(),
    stream: z.boolean().nullable(),
    trace_id: textOrNull,
    started_at: time,
    duration_ms: z.number(),
    first_token_ms: numberOrNull,
    status: z.number().int().describe('0 if the client left before a reply.'),
    end_reason: z.string(),
    error_type: textOrNull,
    error_code: textOrNull,
    error_message: textOrNull.describe('What the client was told.'),
    error_param: textOrNull,
    refused_by: textOrNull.describe('The limit that refused it.'),
    attempts: count,
    prompt_tokens: count,
    cached_tokens: count,
    cache_creation_tokens: count,
    completion_tokens: count,
    reasoning_tokens: count,
    estimated: z.boolean().describe('The tokens were estimated by the gateway.'),
    cost_usd: z.string().optional().describe('An exact decimal; left out for those who see no money.'),
    paid_usd: textOrNull.optional().describe('What its providers are paid, for admins.'),
  })
  .meta({ id: 'Request' });

const attempt = z
  .object({
    provider: textOrNull,
    model: textOrNull,
    offset_ms: z.number(),
    wait_ms: z.number(),
    first_token_ms: numberOrNull,
    duration_ms: numberOrNull,
    status: numberOrNull,
    outcome: z.enum(['completed', 'failed', 'aborted']).nullable(),
    kind: textOrNull,
    error_message: textOrNull.optional().describe("The provider's own message, for admins."),
  })
  .meta({ id: 'Attempt' });

const detailed = request
  .extend({
    attempts_made: z.array(attempt),
    stages: z.array(
      z.object({ stage: z.string(), hook: z.string(), offset_ms: z.number(), own_ms: z.number() }),
    ),
  })
  .meta({ id: 'DetailedRequest' });

/** A row as `caller` may see it. */
const viewFor =
  ({ role }: Caller) =>
  (row: ListedRow) => ({
    object: 'request' as const,
    id: row.id,
    request_id: row.request_id,
    account: row.account,
    key: row.key_id,
    model: row.model,
    requested_model: row.requested_model,
    provider: row.provider,
    endpoint: row.endpoint,
    stream: row.stream,
    trace_id: row.trace_id,
    started_at: timeOf(row.started_ms),
    duration_ms: row.duration_ms,
    first_token_ms: row.first_token_ms,
    status: row.status,
    end_reason: row.end_reason,
    error_type: row.error_type,
    error_code: row.code,
    error_message: row.error_message,
    error_param: row.error_param,
    refused_by: row.refused_by,
    attempts: row.attempts,
    prompt_tokens: row.prompt_tokens,
    cached_tokens: row.cached_tokens,
    cache_creation_tokens: row.cache_creation_tokens,
    completion_tokens: row.completion_tokens,
    reasoning_tokens: row.reasoning_tokens,
    estimated: row.estimated,
    ...(seesMoney(role) && { cost_usd: row.cost_usd }),
    ...(role === 'admin' && { paid_usd: row.paid_usd }),
  });

const detailedFor = (caller: Caller) => (row: LedgerRow) => ({
  ...viewFor(caller)(row),
  attempts_made: row.attempts_made.map(({ error_message, ...made }) => ({
    ...made,
    ...(caller.role === 'admin' && { error_message }),
  })),
  stages: [...row.stages],
});

const listRequests = defineRoute({
  method: 'GET',
  path: '/requests',
  name: 'listRequests',
  summary: 'List requests of the ledger, newest first',
  permission: 'read',
  query: z.strictObject({
    ...pageFields,
    account: text.optional().describe('Of this account.'),
    key: text.optional().describe('Id of a key of the store.'),
    model: text.optional().describe(`Id of a model, or \`${none}\`.`),
    provider: text.optional().describe(`The provider that was asked last, or \`${none}\`.`),
    failed_at: text
      .optional()
      .describe('A provider of which an attempt failed, whatever came of the request.'),
    end_reason: z
      .enum(endReasons as readonly [string, ...string[]])
      .optional()
      .describe('How the request ended.'),
    error_class: z.enum(errorClasses).optional().describe('Whose error it was.'),
    error_type: text.optional().describe('The `type` of the error that the client got.'),
    error_code: text.optional().describe('The `code` of that error.'),
    failed: z.enum(['true', 'false']).optional().describe('`true` for those whose client got an error.'),
    from: givenTime.optional().describe('Begun from this time on.'),
    until: givenTime.optional().describe('Begun before this time.'),
  }),
  reply: listOf(request),
  async handler({ query, caller, context }) {
    const { ledger } = context.records.store;
    const { after, limit, account, key: key_id, failed_at, error_type, error_code: code } = query;
    const orNone = (name: string | undefined) => (name === none ? null : name);
    const asked = {
      account,
      key_id,
      failed_at,
      error_type,
      code,
      model: orNone(query.model),
      provider: orNone(query.provider),
      end_reason: query.end_reason,
      error_classes: query.error_class && [query.error_class],
      failed: query.failed === 'true',
      from_ms: query.from === undefined ? undefined : Date.parse(query.from),
      until_ms: query.until === undefined ? undefined : Date.parse(query.until),
      after: after === undefined ? undefined : placeIn(after),
    };
    const edge = await ledger.edgeOf(asked, searched_rows);
    const found = await ledger.list({ ...asked, edge, limit: limit + 1 });
    const rows = found.slice(0, limit);
    // Where the search ended before the page was full, the next one goes on there.
    const last = found.length > limit ? rows.at(-1) : (edge ?? rows.at(-1));
    return {
      body: {
        object: 'list' as const,
        data: rows.map(viewFor(caller)),
        first_id: rows[0] ? cursorOf(rows[0]) : null,
        last_id: last ? cursorOf(last) : null,
        has_more: found.length > limit || edge !== undefined,
      },
    };
  },
});

const cursorOf = ({ started_ms, id }: LedgerPlace): string => `${started_ms}_${id}`;

function placeIn(cursor: string): LedgerPlace {
  const [, started_ms, id] = /^(\d{1,15})_(.{1,100})$/.exec(cursor) ?? [];
  if (id === undefined)
    throw apiError('invalid_request', { message: 'after: must be last_id of a page.', param: 'after' });
  return { started_ms: Number(started_ms), id };
}

const getRequest = defineRoute({
  method: 'GET',
  path: '/requests/{request_id}',
  name: 'getRequest',
  summary: 'Get the requests with an x-request-id, with all their attempts',
  permission: 'read',
  params: z.object({ request_id: text.describe('The `x-request-id` of the answer.') }),
  reply: z.object({ object: z.literal('list'), data: z.array(detailed) }),
  async handler({ params: { request_id }, caller, context }) {
    const found = await context.records.store.ledger.find(request_id);
    if (found.length === 0)
      throw apiError('not_found', {
        message:
          'The ledger has no request with this id. It keeps only some of those that were refused; the log has all.',
      });
    return { body: { object: 'list' as const, data: found.map(detailedFor(caller)) } };
  },
});

/** Requests of the ledger. */
export const requestRoutes = [listRequests, getRequest];
