import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import type { ChatRequest } from '../gateway/exchange/canonical.ts';
import type { StagePlan } from '../gateway/exchange/stage-plan.ts';
import type { ChainOptions } from '../mount/chain/chain-options.ts';
import type { StreamFixture } from './wire.ts';

/** A stage as `defineStage`'s factory returns it, or several as a chain. */
export type StageUnderTest = { readonly plan: StagePlan } | readonly { readonly plan: StagePlan }[];

/** What a stage may change on purpose: `text` wherever it stands, tool arguments and log probabilities included, or only the `content`. */
export type Change = (typeof changes)[number];

const changes = ['text', 'content', 'tool_calls', 'finish_reason', 'usage'] as const;

/** How `checkStage` runs a stage. Without options: one model that reasons, one account, the least request, every fixture. */
export interface ContractOptions {
  /** The catalog, as `createChain` takes it. The request asks for the first model. */
  readonly models?: ChainOptions['models'];
  /**
   * Accounts with their keys, as `createChain` takes them. If no stage authenticates, `checkStage` sets `exchange.account`: to the account of
   * the key in `headers`, without a key to the first account.
   */
  readonly accounts?: ChainOptions['accounts'];
  /** Limits by plan, as `createChain` takes them. */
  readonly plans?: ChainOptions['plans'];
  /** The client's headers. Without them, the key of the check's own account, which `accounts` replaces. */
  readonly headers?: IncomingHttpHeaders;
  /** What the application's middleware has put on the request, which stages see as `exchange.incoming`: `{ user: { id: 'u1' } }`. */
  readonly incoming?: Readonly<Record<string, unknown>>;
  /** What the client asks for beside the model and a message. */
  readonly request?: Partial<ChatRequest>;
  /** Streams to run it over, in place of `streamFixtures`. */
  readonly fixtures?: readonly StreamFixture[];
  /** What the stage changes on purpose; it is not compared with the upstream's reply. */
  readonly changes?: readonly Change[];
  /** A text that the stage changes. With `changes` of text or content, it must not be left in log probabilities or elsewhere. */
  readonly sample?: string;
  /** How many chunks the stage may read while its reader asks for nothing; 1 without it. */
  readonly read_ahead?: number;
  /** The stage collects the whole reply before it hands anything on, as its documentation says. */
  readonly holds_all?: boolean;
  /** How long the upstream pauses where the wire is cut and before a fault: for a stage with timers, longer than these. */
  readonly pause_ms?: number;
  /** Time limit of each reply, and of the promise of each hook; 5000 without it. */
  readonly timeout_ms?: number;
}

const given = z.unknown().optional();

/** Knows the names of the options, so that a misspelt one is not passed over. */
export const contractOptionsSchema = z.strictObject({
  models: given,
  accounts: given,
  plans: given,
  headers: given,
  incoming: given,
  request: given,
  fixtures: given,
  changes: z.array(z.enum(changes)).optional(),
  sample: z.string().min(1, 'must not be empty').optional(),
  read_ahead: z.int().nonnegative().optional(),
  holds_all: z.boolean().optional(),
  pause_ms: z.number().nonnegative().optional(),
  timeout_ms: z.number().positive().optional(),
} satisfies Record<keyof ContractOptions, z.ZodType>);
