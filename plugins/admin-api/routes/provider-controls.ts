import { z } from 'zod';
import {
  type ExtensionContext,
  max_reason,
  max_weight,
  NotThere,
  type ProviderControl,
} from '../../../src/plugin.ts';
import { endOf, givenTime, time, timeOrNull } from '../fields.ts';
import { defineRoute } from '../route.ts';

const state = z.enum(['active', 'paused', 'draining']);

const control = z
  .object({
    object: z.literal('provider_control'),
    provider: z.string(),
    state,
    weight: z.number().nullable(),
    until: time.nullable(),
    reason: z.string(),
    actor: z.string().nullable(),
    at: time.nullable(),
  })
  .meta({ id: 'ProviderControl' });

/** A control, or that nothing is set. */
const viewOf = (provider: string, set: ProviderControl | undefined): z.input<typeof control> => ({
  object: 'provider_control',
  provider,
  state: set?.state ?? 'active',
  weight: set?.weight ?? null,
  until: timeOrNull(set?.until_ms ?? null),
  reason: set?.reason ?? '',
  actor: set?.actor ?? null,
  at: timeOrNull(set?.at_ms ?? null),
});

const params = z.strictObject({ provider: z.string().max(200).describe('Its name in the configuration.') });
const path = '/providers/{provider}/control';

function controlOf({ providers }: ExtensionContext, name: string): ProviderControl | undefined {
  const found = providers.find(provider => provider.name === name);
  if (!found) throw new NotThere(`there is no provider '${name}'`);
  return found.control;
}

const getControl = defineRoute({
  method: 'GET',
  path,
  name: 'getProviderControl',
  summary: 'What operators have set of a provider; active without a weight if nothing is set',
  permission: 'read',
  params,
  reply: control,
  handler: async ({ params: { provider }, context }) => ({
    body: viewOf(provider, controlOf(context, provider)),
  }),
});

const setControl = defineRoute({
  method: 'PUT',
  path,
  name: 'setProviderControl',
  summary: 'Pause or drain a provider, or replace its weight, at every instance within a second',
  permission: 'change',
  params,
  body: z
    .strictObject({
      state: state.describe(
        '`paused`: no attempt begins there. `draining`: no request. `active`: with a weight.',
      ),
      weight: z
        .number()
        .min(0)
        .max(max_weight)
        .optional()
        .describe('Of an active provider, in place of the weights of its upstreams; 0 drains it.'),
      until: givenTime
        .exactOptional()
        .describe('When it is over by itself; without it, it stays until it is changed.'),
      reason: z.string().max(max_reason).default('').describe('Why, for other operators.'),
    })
    .refine(({ state, weight }) => (state === 'active') === (weight !== undefined), {
      path: ['weight'],
      message: 'is needed for an active provider, and for no other',
    }),
  reply: control,
  async handler({ params: { provider }, body: { state, weight, until, reason }, context, operator }) {
    const options = { operator, reason, until_ms: endOf(until ?? null, operator.at_ms, 'until') };
    const { controls } = context;
    const set =
      state === 'active'
        ? await controls.weight(provider, weight!, options)
        : await controls[state === 'paused' ? 'pause' : 'drain'](provider, options);
    return { body: viewOf(provider, set) };
  },
});

const clearControl = defineRoute({
  method: 'DELETE',
  path,
  name: 'clearProviderControl',
  summary: 'Return a provider to what the configuration says',
  permission: 'change',
  params,
  reply: control,
  async handler({ params: { provider }, context, operator }) {
    await context.controls.resume(provider, operator);
    return { body: viewOf(provider, undefined) };
  },
});

/** What operators set of providers. */
export const providerControlRoutes = [getControl, setControl, clearControl];
