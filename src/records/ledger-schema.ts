import { z } from 'zod';
import type { AttemptRow, LedgerRow, RefusalBatch } from '../gateway/settlement/ledger-entry.ts';

const text = z.string().max(10_000);
const count = z.int().nonnegative();
const usd = z.string().regex(/^\d{1,12}(\.\d{1,12})?$/);

// The rows of ledger-entry.ts as they are read back from logs and disks. What has a default is missing in rows of earlier versions.

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
  error_message: text.nullable().default(null),
});
const stageSchema = z.object({
  stage: text,
  hook: text,
  offset_ms: z.number().nonnegative(),
  own_ms: z.number().nonnegative(),
});

/** Schema of a `LedgerRow`, as it is in the store, on disk and in the log. */
export const rowSchema = z.object({
  id: z.string().min(1).max(100),
  request_id: text,
  account: text.min(1),
  key_id: text.nullable(),
  model: text.nullable(),
  provider: text.nullable(),
  endpoint: text,
  requested_model: text.nullable().default(null),
  error_message: text.nullable().default(null),
  error_param: text.nullable().default(null),
  stream: z.boolean().nullable().default(null),
  trace_id: text.nullable().default(null),
  started_ms: count,
  duration_ms: z.number().nonnegative(),
  first_token_ms: z.number().nonnegative().nullable(),
  status: count,
  error_type: text.nullable(),
  code: text.nullable().default(null),
  end_reason: text,
  refused_by: text.nullable().default(null),
  attempts: count,
  prompt_tokens: count,
  completion_tokens: count,
  cached_tokens: count,
  cache_creation_tokens: count.default(0),
  reasoning_tokens: count,
  estimated: z.boolean(),
  cost_usd: usd,
  paid_usd: usd.nullable().default(null),
  attempts_made: z.array(attemptSchema).max(1000).readonly().default([]),
  stages: z.array(stageSchema).max(64).readonly().default([]),
});
const refusalSchema = rowSchema
  .pick({ account: true, key_id: true, model: true, status: true, error_type: true, end_reason: true })
  .extend({ started_ms: count, requests: count });

export const batchSchema = z.object({
  id: rowSchema.shape.id,
  refusals: z.array(refusalSchema).max(1000).readonly(),
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
