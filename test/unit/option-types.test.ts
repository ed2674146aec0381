import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import type { z } from 'zod';
import { builtInStages } from '../../plugins/index.ts';
import type { modelSchema } from '../../src/catalog/model-schema.ts';
import type { chainOptionsSchema } from '../../src/chain/chain-options.ts';
import type { GatewayConfig, OtherProvider } from '../../src/config/gateway-config.ts';
import type { configSchema, serverSchema } from '../../src/config/schema.ts';
import type {
  ChainConfig,
  ModelConfig,
  ModelOptions,
  PlanOptions,
  ProviderOptions,
  ServerOptions,
} from '../../src/options.ts';
import type { planSchema } from '../../src/stores/limits/plan-limits.ts';
import type { providerBaseSchema } from '../../src/upstream/http/provider-schema.ts';
import { optionTypeFiles } from '../support/option-types/option-types.ts';

/** `true` if each of two types can be used in place of the other, and both have the same names. */
type Same<A, B> = [A, keyof A] extends [B, keyof B]
  ? [B, keyof B] extends [A, keyof A]
    ? true
    : false
  : false;

/** The configuration without what is written more exactly than the schema says: the options of plugins. */
type Exact<Config extends { providers: unknown; stages?: unknown }> = Omit<Config, 'providers' | 'stages'>;

/** A provider without the list whose names the schema knows only at run time. */
type Listed<Provider> = Omit<Provider, 'drop_parameters'>;

describe('types of options', () => {
  it('are those that the schemas accept', () => {
    // Checked by the compiler: `npm run typecheck`.
    const same: true[] = [
      true satisfies Same<ServerOptions, z.input<typeof serverSchema>>,
      true satisfies Same<ModelOptions, z.input<typeof modelSchema>>,
      true satisfies Same<ModelConfig, z.output<typeof modelSchema>>,
      true satisfies Same<PlanOptions, z.output<typeof planSchema>>,
      true satisfies Same<Listed<ProviderOptions>, Listed<z.input<typeof providerBaseSchema>>>,
      true satisfies Same<ChainConfig, z.input<typeof chainOptionsSchema>>,
      true satisfies Same<Exact<GatewayConfig>, Exact<z.input<typeof configSchema>>>,
      true satisfies OtherProvider extends z.input<typeof configSchema>['providers'][string] ? true : false,
    ];
    // @ts-expect-error A port is no switch.
    same.push(true satisfies Same<{ port: boolean }, Pick<ServerOptions, 'port'>>);
    expect(same).toHaveLength(9);
  });

  it('are those of every built-in stage', () => {
    for (const { stageName } of builtInStages) {
      const stage = new URL(`../../plugins/stages/${stageName}/index.ts`, import.meta.url);
      expect(readFileSync(stage, 'utf8')).toMatch(/: StageFactory<\w+Options> = defineStage\(/);
    }
  });

  it.each([...optionTypeFiles()])('stand in %s as the schemas generate them (npm run docs)', (path, text) => {
    const file = new URL(`../../${path}`, import.meta.url);
    expect(existsSync(file) && readFileSync(file, 'utf8')).toBe(text);
  });
});
