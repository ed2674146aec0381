import { z } from 'zod';
import { forEachLimit } from '../gateway/limits/limit-table.ts';

const policy = z.enum(['open', 'closed', 'local']);

/** Policy of a limit while the shared store is unavailable. */
export type OutagePolicy = z.output<typeof policy>;

/** Names only a limit whose policy differs from the others. */
export const outagePolicySchema = z.strictObject({
  default: policy
    .default('local')
    .describe(
      'What becomes of limits while the store is down. `local`: each instance admits its share, the limit ÷ the instances last seen, at least `state_min_instances` (of what was left at the last answer). `open`: the limit is not applied. `closed`: accounts with the limit get 502 `server_error`.',
    ),
  ...forEachLimit(() => policy.optional().describe('Another policy for this limit.')),
});

export type OutagePolicies = z.output<typeof outagePolicySchema>;

/** Options of the state store, as they stand under `stores`. */
export const stateOptions = {
  state: z
    .string()
    .meta({ address: true })
    .default('memory')
    .describe(
      'Counters, concurrency and what stages cache: `memory` of this process, or a Redis that is shared by all instances that name it: `redis://user:password@host:6379/0`; of a cluster some nodes, `redis+cluster://user:password@host1:6379,host2:6379`; of Sentinels those and the name of the primary, `redis+sentinel://user:password@host1:26379,host2:26379/mymaster/0`, with `?sentinel_username=…&sentinel_password=…` where the Sentinels themselves ask for a password. `rediss` in place of `redis` connects over TLS. Needs the package @redis/client, to be installed beside sluice.',
    ),
  state_timeout_ms: z
    .int()
    .min(10)
    .default(250)
    .describe('The longest that a request waits for Redis before it is decided without it.'),
  state_connect_timeout_ms: z
    .int()
    .min(10)
    .default(2000)
    .describe('How long a connection to Redis may take to come up; no request waits for it.'),
  state_lease_ms: z
    .int()
    .min(1000)
    .default(15_000)
    .describe(
      'How long an instance that is killed or silent keeps in Redis what it holds of limits: its concurrency is free then, and blocks count as used.',
    ),
  state_key_prefix: z
    .string()
    .regex(/^[^{}]*$/, 'must have no braces: they decide where a cluster keeps a key')
    .meta({ shown: true })
    .default('sluice:')
    .describe('Begins the name of every key in Redis; instances with another one share nothing.'),
  state_min_instances: z
    .int()
    .min(1)
    .default(2)
    .describe(
      'How many instances share Redis at least. `local` divides limits by it where fewer were last seen: an instance that starts during an outage knows of no other.',
    ),
  on_state_store_down: outagePolicySchema
    .prefault({})
    .describe(
      'What becomes of limits while Redis does not answer or cannot be written, by the name of the limit.',
    ),
};

export const stateSchema = z.object(stateOptions);

export type StateOptions = z.input<typeof stateSchema>;
