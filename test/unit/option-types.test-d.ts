import type { z } from 'zod';
import type {
  ChainConfig,
  ModelConfig,
  ModelOptions,
  PlanOptions,
  ProviderConfig,
  ProviderOptions,
  RoutingConfig,
  ServerConfig,
  ServerOptions,
} from '../../src/common/options.ts';
import type { GatewayConfig, OtherProvider } from '../../src/config/gateway-config.ts';
import type { modelSchema } from '../../src/config/model-schema.ts';
import type { providerBaseSchema } from '../../src/config/provider-schema.ts';
import type { routingSchema } from '../../src/config/routing-schema.ts';
import type { configSchema, serverSchema } from '../../src/config/schema.ts';
import type { planSchema } from '../../src/gateway/limits/plan-limits.ts';
import type { chainOptionsSchema } from '../../src/mount/chain/chain-options.ts';

/** `true` if each of two types can be used in place of the other, and both have the same names. */
type Same<A, B> = [A, keyof A] extends [B, keyof B]
  ? [B, keyof B] extends [A, keyof A]
    ? true
    : false
  : false;

/** The configuration without what is written more exactly than the schema says: the options of plugins. */
type Exact<Config extends { providers: unknown; stages?: unknown }> = Omit<Config, 'providers' | 'stages'>;

/** The types of options are those that the schemas accept: `npm run typecheck` fails where one is not. */
export const same: true[] = [
  true satisfies Same<ServerOptions, z.input<typeof serverSchema>>,
  true satisfies Same<ServerConfig, z.output<typeof serverSchema>>,
  true satisfies Same<ModelOptions, z.input<typeof modelSchema>>,
  true satisfies Same<ModelConfig, z.output<typeof modelSchema>>,
  true satisfies Same<PlanOptions, z.output<typeof planSchema>>,
  true satisfies Same<ProviderOptions, z.input<typeof providerBaseSchema>>,
  true satisfies Same<ProviderConfig, z.output<typeof providerBaseSchema>>,
  true satisfies Same<RoutingConfig, z.output<typeof routingSchema>>,
  true satisfies Same<ChainConfig, z.input<typeof chainOptionsSchema>>,
  true satisfies Same<Exact<GatewayConfig>, Exact<z.input<typeof configSchema>>>,
  true satisfies OtherProvider extends z.input<typeof configSchema>['providers'][string] ? true : false,
];
// @ts-expect-error A port is no switch.
same.push(true satisfies Same<{ port: boolean }, Pick<ServerOptions, 'port'>>);
