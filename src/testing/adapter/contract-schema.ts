import { z } from 'zod';
import { checkedBy } from '../../common/config-error.ts';
import { type AnyProviderDefinition, checkedProvider } from '../../gateway/upstream/adapter.ts';
import type { AdapterContract } from './adapter-contract.ts';

const name = z.string().min(1, 'must name the fixture');
const anyObject = z.looseObject({});

const fixtureSchema = z.strictObject({
  name,
  stream: z.string().optional(),
  reply: z.unknown().optional(),
  choices: z.array(
    z.strictObject({
      index: z.int(),
      message: anyObject,
      finish_reason: z.string(),
      stop_sequence: z.string().optional(),
      logprobs: z.unknown().optional(),
    }),
  ),
  usage: anyObject.optional(),
});

const errorSchema = z.strictObject({
  name,
  status: z.int().optional(),
  headers: anyObject.optional(),
  body: z.unknown().optional(),
  stream: z.string().optional(),
  shown: z.strictObject({ status: z.int(), type: z.string(), message: z.string().optional() }),
});

const contractSchema = z.strictObject({
  options: z.unknown().optional(),
  fixtures: z.array(fixtureSchema).min(1, 'must have at least one fixture; without any nothing is decoded'),
  errors: z.array(errorSchema).optional(),
  model: z.string().optional(),
  requests: z.record(z.string(), anyObject).optional(),
  timeout_ms: z.number().positive().optional(),
});

/** Throws a ConfigError that lists what is wrong with a definition, or with the contract beside it: what is misspelt would not be checked. */
export function checkContract(definition: AnyProviderDefinition, contract: AdapterContract): void {
  checkedProvider(definition);
  checkedBy(`checkAdapter: the contract of ${definition.name}`, contractSchema, contract);
}
