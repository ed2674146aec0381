import { z } from 'zod';
import type { AttemptRow, LedgerRow, RefusalBatch } from '../gateway/settlement/ledger-entry.ts';

const text = z.string().max(10_000);
const count = z.int().nonnegative();

/** One attempt of an exchange, as `AttemptRecord` describes it. */
const attemptSchema = z.object({
  provider: text.nullable(),
  model: text.nullable(),
  offset_ms: count,
  wait_ms: count,
  first_token_ms: count.nullable(),
  duration_ms: count.nullable(),
  status: count.nullable(),
  outcome: z.enum(['completed', 'failed', 'aborted']).nullable(),
  kind: text.nullable(),
  /** Null unless it failed, and in rows of earlier versions. */
  error_message: text.nullable().default(null),
});

/** One hook of a stage, as `StageRecord` describes it. */
const stageSchema = z.object({
  stage: text,
  hook: text,
  offset_ms: z.number().nonnegative(),
  own_ms: z.number().nonnegative(),
});

/** One settled exchange, also as `ledger_row` in the log. Times in milliseconds. */
export const rowSchema = z.object({
  /** Unique for every exchange, unlike the request id, which clients may choose: a row is written once however often it is sent. */
  id: z.string().min(1).max(100),
  request_id: text,
  account: text.min(1),
  /** The stored key that was used; null for keys of the configuration. */
  key_id: text.nullable(),
  model: text.nullable(),
  provider: text.nullable(),
  endpoint: text,
  /** The name that the client asked for, if it is not the model's id; null also in rows of earlier versions, as the next ones. */
  requested_model: text.nullable().default(null),
  /** The message that the client got, and the request field at fault. */
  error_message: text.nullable().default(null),
  error_param: text.nullable().default(null),
  /** Null if the request was not read; rows that wait on disk may be of an earlier version, without this and the next. */
  stream: z.boolean().nullable().default(null),
  trace_id: text.nullable().default(null),
  started_ms: count,
  duration_ms: z.number().nonnegative(),
  first_token_ms: z.number().nonnegative().nullable(),
  status: count,
  error_type: text.nullable(),
  /** Name of the error in the catalogue. */
  code: text.nullable().default(null),
  end_reason: text,
  /** Name of the usage limit that refused the request; null for other ends, and in rows of earlier versions. */
  refused_by: text.nullable().default(null),
  attempts: count,
  prompt_tokens: count,
  completion_tokens: count,
  cached_tokens: count,
  /** Tokens of the prompt that the provider has put into its cache; rows that wait on disk may be of an earlier version. */
  cache_creation_tokens: count.default(0),
  reasoning_tokens: count,
  /** The tokens were estimated by the gateway, not reported by the upstream. */
  estimated: z.boolean(),
  /** Exact decimal string. */
  cost_usd: z.string().regex(/^\d{1,12}(\.\d{1,12})?$/),
  /** Every attempt, in order. */
  attempts_made: z.array(attemptSchema).max(1000).readonly().default([]),
  /** Own time of the stages' hooks, in the order in which they began; empty in rows of earlier versions. */
  stages: z.array(stageSchema).max(64).readonly().default([]),
});

/** Equal exchanges of one day that asked no upstream and cost nothing; `started_ms` is when the first of them began. */
const refusalSchema = rowSchema
  .pick({ account: true, key_id: true, model: true, status: true, error_type: true, end_reason: true })
  .extend({ started_ms: count, requests: count });

/** Refusals that are sent together and counted once, however often they are sent. The id begins with the time, as that of a row. */
export const batchSchema = z.object({
  id: rowSchema.shape.id,
  refusals: z.array(refusalSchema).max(1000).readonly(),
  /** Some of them as rows, which are in the counts already; batches that wait on disk or in logs may be of an earlier version. */
  samples: z.array(rowSchema).max(1000).readonly().optional(),
});

/** The columns of an attempt. */
export const attemptColumns = attemptSchema.keyof().options;

/** What is read back is what was written. */
export const isAlike: [
  Same<Readonly<z.output<typeof attemptSchema>>, AttemptRow>,
  Same<Readonly<z.output<typeof rowSchema>>, LedgerRow>,
  z.output<typeof batchSchema> extends RefusalBatch ? true : false,
] = [true, true, true];

type Same<A, B> = A extends B ? (B extends A ? true : false) : false;
