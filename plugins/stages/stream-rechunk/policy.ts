import { z } from 'zod';
import type { Exchange } from '../../../src/plugin.ts';

const sizes = {
  coalesce_characters: z
    .int()
    .min(0)
    .default(0)
    .describe('Join pieces of text until they have this many characters; 0 passes them as they come.'),
  coalesce_ms: z
    .int()
    .min(1)
    .default(50)
    .describe('How long a piece waits for others at most, where pieces are joined.'),
  split_characters: z
    .int()
    .min(0)
    .default(0)
    .describe('Cut pieces of text that have more characters than this; 0 leaves them whole.'),
};

const one = z.union([z.string(), z.array(z.string()).min(1)]).meta({ shown: true });

const when = z
  .strictObject({
    model: one.optional().describe('Catalog ids.'),
    account: one.optional().describe('Account names.'),
    plan: one.optional().describe('Plan names.'),
    continuous_usage: z.boolean().optional().describe('Whether the client asked for running usage.'),
  })
  .describe('All that is given must match.');

const sizesFit = (value: { coalesce_characters?: number; split_characters?: number }) =>
  !value.coalesce_characters ||
  !value.split_characters ||
  value.split_characters >= value.coalesce_characters;
const mismatch = { path: ['split_characters'], error: 'must not be smaller than coalesce_characters' };

export const policySchema = z
  .strictObject({
    ...sizes,
    classes: z
      .array(z.strictObject({ when, ...sizes }).refine(sizesFit, mismatch))
      .default([])
      .describe(
        'Other sizes for some requests: `{ when: { model, account, plan, continuous_usage }, … }`. The first that matches counts.',
      ),
  })
  .refine(sizesFit, mismatch);

type Policies = z.output<typeof policySchema>;
type Policy = Pick<Policies, keyof typeof sizes>;
type When = Policies['classes'][number]['when'];

/** The policy for this request: the first class that matches, else the stage's own. */
export function policyOf(policies: Policies, exchange: Exchange): Policy {
  return policies.classes.find(({ when }) => matches(when, exchange)) ?? policies;
}

function matches({ model, account, plan, continuous_usage }: When, exchange: Exchange): boolean {
  const { request } = exchange;
  return (
    isOneOf(model, request.model) &&
    isOneOf(account, exchange.account?.id) &&
    isOneOf(plan, exchange.account?.plan) &&
    (continuous_usage === undefined ||
      continuous_usage === (request.stream_options?.continuous_usage_stats ?? false))
  );
}

const isOneOf = (accepted: string | readonly string[] | undefined, value: string | undefined): boolean =>
  accepted === undefined || (value !== undefined && [accepted].flat().includes(value));
