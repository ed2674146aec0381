import { z } from 'zod';
import {
  catalogEntry,
  type ExtensionContext,
  type Model,
  type ProviderState,
  providerStates,
} from '../../../src/plugin.ts';
import { apiError } from '../api-error.ts';
import { time, timeOf, timeOrNull } from '../fields.ts';
import { seesMoney } from '../permissions.ts';
import { type Caller, defineRoute } from '../route.ts';

const upstream = z
  .object({
    provider: z.string(),
    model: z.string().describe("The model's name there."),
    priority: z.number(),
    weight: z.number(),
    usable_in_ms: z.number().describe('0 if this instance asks it now.'),
  })
  .meta({ id: 'Upstream' });

const model = z
  .looseObject({
    object: z.literal('model'),
    id: z.string(),
    upstreams: z.array(upstream).describe('As this instance sees them.'),
  })
  .describe('What clients see at `/v1/models`, without prices for those who see no money, and the upstreams.')
  .meta({ id: 'Model' });

function modelView({ role }: Caller, context: ExtensionContext, of: Model) {
  const { pricing, ...entry } = catalogEntry(of);
  const now_ms = context.clock.elapsed_ms();
  return {
    ...(entry as { id: string; object: 'model' }),
    ...(seesMoney(role) && { pricing }),
    upstreams: context.upstreamsOf(of.id).map(one => ({
      provider: one.provider.name,
      model: one.target.model,
      priority: one.priority,
      weight: one.weight,
      usable_in_ms: Math.max(0, Math.round(one.usable_in_ms(now_ms))),
    })),
  };
}

const listModels = defineRoute({
  method: 'GET',
  path: '/models',
  name: 'listModels',
  summary: 'List the catalog with its upstreams',
  permission: 'read',
  reply: z.object({ object: z.literal('list'), data: z.array(model) }),
  async handler({ caller, context }) {
    const data = context.catalog.models.map(one => modelView(caller, context, one));
    return { body: { object: 'list' as const, data } };
  },
});

const provider = z
  .object({
    object: z.literal('provider'),
    name: z.string(),
    adapter: z.string(),
    host: z.string(),
    port: z.number().int(),
    healthy: z.boolean().describe('Whether its health check succeeds; true without one.'),
    breaker: z.object({
      state: z.enum(['closed', 'open', 'half_open']),
      retry_in_ms: z.number(),
      share: z.number().describe('The share of requests that it gets while it recovers.'),
    }),
    in_flight: z.number().int(),
    queued: z.number().int(),
    control: z
      .object({
        state: z.enum(['active', 'paused', 'draining']),
        weight: z.number().nullable(),
        until: time.nullable().describe('When it ends by itself.'),
        reason: z.string(),
        actor: z.string(),
        at: time,
      })
      .nullable()
      .describe('What operators have set of it; `null` for nothing.'),
  })
  .describe('A provider as all processes of this server see it.')
  .meta({ id: 'Provider' });

const providerView = ({
  name,
  adapter,
  address,
  healthy,
  breaker,
  bulkhead,
  control,
}: ProviderState): z.input<typeof provider> => ({
  object: 'provider',
  name,
  adapter,
  host: address.host,
  port: address.port,
  healthy,
  breaker: {
    state: breaker.state,
    retry_in_ms: Math.round(breaker.retry_in_ms),
    share: breaker.share,
  },
  in_flight: bulkhead.in_flight,
  queued: bulkhead.queued,
  control: control
    ? {
        state: control.state,
        weight: control.weight,
        until: timeOrNull(control.until_ms),
        reason: control.reason,
        actor: control.actor,
        at: timeOf(control.at_ms),
      }
    : null,
});

const listProviders = defineRoute({
  method: 'GET',
  path: '/providers',
  name: 'listProviders',
  summary: 'List the providers with their state',
  permission: 'read',
  reply: z.object({ object: z.literal('list'), data: z.array(provider) }),
  async handler({ context }) {
    const data = (await providerStates(context)).map(providerView);
    return { body: { object: 'list' as const, data } };
  },
});

const getProvider = defineRoute({
  method: 'GET',
  path: '/providers/{provider}',
  name: 'getProvider',
  summary: 'Get a provider with its state',
  permission: 'read',
  params: z.object({ provider: z.string().describe('Its name in the configuration.') }),
  reply: provider,
  async handler({ params, context }) {
    const found = (await providerStates(context)).find(({ name }) => name === params.provider);
    if (!found) throw apiError('not_found', { message: 'There is no such provider.' });
    return { body: providerView(found) };
  },
});

/** Models and providers. */
export const catalogRoutes = [listModels, listProviders, getProvider];
