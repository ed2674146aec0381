import { z } from 'zod';
import { notOneOf } from '../common/config-error.ts';
import { asObject } from '../common/json-object.ts';
import { ms, off } from '../common/option-schemas.ts';
import { plansSchema } from '../gateway/limits/plan-limits.ts';
import type { ProviderDefinition } from '../gateway/upstream/adapter.ts';
import { allowedTagsSchema } from '../records/key-tags.ts';
import { adminSignIn, portalSchema } from '../records/sign-in-schema.ts';
import { aliasOptions, configuredAccountSchema } from './alias-schema.ts';
import { dialectSections } from './built-in-dialects.ts';
import { builtInSections } from './built-in-extensions.ts';
import { tlsSchema } from './certificate-files.ts';
import { type Adapters, builtInAdapters } from './load-adapters.ts';
import { logSchema } from './log-schema.ts';
import { modelSchema } from './model-schema.ts';
import { passthroughRuleSchema } from './passthrough-rule.ts';
import { providerBaseSchema } from './provider-schema.ts';
import { recordsOptions } from './records-options.ts';
import { routingSchema } from './routing-schema.ts';
import { bodyLimits, replyLimits, streamLimits } from './server-limits.ts';
import { stateOptions } from './state-options.ts';

/** A port, as a number or as the text of an environment variable. */
const port = (
  value: number,
  description = '0 takes a free port.',
): z.ZodDefault<z.ZodType<number, number | string>> =>
  z.preprocess(
    given => (typeof given === 'string' && /^\d+$/.test(given) ? Number(given) : given),
    z.int().min(0).max(65_535).default(value).describe(description),
  ) as unknown as z.ZodDefault<z.ZodType<number, number | string>>;

/** An address. An empty one, as of a variable that is empty, would be every address. */
const host = z
  .string()
  .min(1, 'must be an address; 0.0.0.0 and :: are all of this machine')
  .meta({ shown: true })
  .default('127.0.0.1');

/** A number of processes, also as the text of an environment variable. */
const workers = z.preprocess(
  given => (typeof given === 'string' && /^\d+$/.test(given) ? Number(given) : given),
  z
    .union(
      [z.int().min(1).max(1024), z.literal('auto')],
      'must be a number of processes from 1 to 1024, or auto: one for each core',
    )
    .default(1),
) as unknown as z.ZodDefault<z.ZodType<number | 'auto', number | string>>;

export const serverSchema = z.strictObject({
  host: host.describe(
    'Address to listen on. Without it `HOST` of the environment counts, if it is an IP address or `localhost`.',
  ),
  port: port(8080, '0 takes a free port. Without it `PORT` of the environment counts.'),
  tls: tlsSchema
    .optional()
    .describe(
      'Serve HTTPS with this certificate, instead of HTTP. The files have a watch of their own; other changes need a restart.',
    ),
  public_url: z
    .url({ protocol: /^https?$/, error: 'must be an address such as https://llm.example.com' })
    .meta({ address: true })
    .optional()
    .describe('Where clients reach the gateway, without `/v1`: for the examples that the dashboard shows.'),
  trust_proxy: off(
    'Believe the last `X-Forwarded-For`, for `client_address` in the log: only behind a proxy that sets it, and with no other way to this listener.',
  ),
  open: off(
    'A chain without the stage `auth`, or one of your own with `authenticates: true`, is refused unless this is set: every client is served then, without a key.',
  ),
  ...bodyLimits,
  ...streamLimits,
  ...replyLimits,
  unready_ms: z
    .int()
    .min(0)
    .default(5000)
    .describe(
      'After SIGTERM `/readyz` answers 503 at once, and requests are still served for this time, in which load balancers notice. SIGINT skips it.',
    ),
  drain_ms: ms(30_000).describe(
    'How long running exchanges may take to finish after that. A second SIGTERM ends them at once.',
  ),
  reuse_port: off(
    'Let several processes listen at the same addresses (`SO_REUSEPORT`, Linux): start the next process, wait until it is ready, then end this one.',
  ),
  workers: workers.describe(
    'Processes that serve the public address of a sidecar together, each on a core of its own; `auto`: one for each core. In an application it has no effect.',
  ),
  reload_on_change: off(
    'Watch the file of the configuration, and reload it when it has changed; a symbolic link is followed. SIGHUP and `sluice reload` reload it in any case.',
  ),
});

export const adminSchema = z.strictObject({
  host: host.describe('Address to listen on; never a public one.'),
  port: port(8081),
  socket: z
    .string()
    .min(1)
    .meta({ shown: true })
    .optional()
    .describe(
      'Path of a Unix socket with the same paths, and with `POST /reload` for `sluice reload`. Only the user of this process may open it. A relative path begins at the directory of the configuration.',
    ),
  tls: tlsSchema.optional().describe('Serve HTTPS on this listener, as `server.tls` does on the other one.'),
  hosts: z
    .array(z.string().min(1))
    .meta({ shown: true })
    .default([])
    .describe(
      'Names in the `Host` header by which this listener may be asked, beside `localhost`, `127.0.0.1`, `[::1]`, its own address and `host`. Without this check a page of another site could read it through a name that it points here.',
    ),
  ...adminSignIn,
});

export const metricsSchema = z.strictObject({
  account_label: off(
    'Count requests, failures, tokens and cost by account as well (`sluice_account_*`): five series for each account, and one for each further status.',
  ),
});

export const tracingSchema = z.strictObject({
  capture_content: off(
    'Put prompts and answers on the spans of attempts. They leave the gateway with the traces.',
  ),
  max_content_characters: z
    .int()
    .positive()
    .default(8192)
    .describe('No more than this of the prompt and of the answer.'),
});

export const usageSchema = z.strictObject({
  estimator: z
    .enum(['characters', 'gpt-tokenizer'])
    .default('characters')
    .describe(
      'How tokens that the upstream has not reported are counted: the starts of words and classes of characters, or the package gpt-tokenizer (to be installed beside sluice; o200k, about 70 MB of memory).',
    ),
});

export const storesSchema = z.strictObject({
  ...stateOptions,
  ...recordsOptions,
  plugins: z
    .array(z.string().min(1))
    .meta({ shown: true })
    .default([])
    .describe('Stores of your own, by path or package: `state` and `records` may then name places in them.'),
});

/** Typed loosely, because the adapters' own options differ; checked strictly. */
type ProviderOption = z.ZodObject<
  typeof providerBaseSchema.shape & { adapter: z.ZodLiteral<string> },
  z.core.$loose
>;

/** The `base_url` of providers whose adapter has one. */
export function addressOf({ base_url }: Pick<ProviderDefinition, 'base_url'> = {}) {
  const { base_url: address } = providerBaseSchema.shape;
  return base_url === undefined ? {} : { base_url: address.default(base_url) as unknown as typeof address };
}

/**
 * A provider: what all have in common, and its adapter's own options with their checks. One whose adapter cannot be used may have any
 * further options.
 */
export function providerSchemaOf(adapters: Adapters) {
  const options = [...adapters].map(([name, definition]) => {
    const common = providerBaseSchema.extend({
      ...addressOf(definition),
      adapter: z.literal(name),
    });
    if (!definition) return common.loose();
    const { shape, _zod } = definition.schema as unknown as z.ZodObject;
    const checks = (_zod.def.checks ?? []) as z.core.$ZodCheck<Record<string, unknown>>[];
    return common.extend(shape).check(...checks);
  });
  const names = [...adapters].filter(([, definition]) => definition).map(([name]) => name);
  return z.discriminatedUnion('adapter', options as unknown as [ProviderOption, ...ProviderOption[]], {
    error: issue =>
      issue.code === 'invalid_union'
        ? `${notOneOf(asObject(issue.input).adapter, names)} (or a path such as ./my-server.ts, or a package)`
        : undefined,
  });
}

/** A stage by name, or by name with options: `auth`, `{ validation: { … } }`, `{ ./my-stage.ts: { … } }`. Checked when it is loaded. */
const stageEntrySchema = z.custom<string | Record<string, unknown>>(() => true);

/** The whole configuration with the built-in plugins; strict, so that typos are reported. */
export const configSchema = z.strictObject({
  server: serverSchema.prefault({}),
  admin: adminSchema.prefault({}),
  portal: portalSchema.prefault({}),
  log: logSchema.prefault({}),
  metrics: metricsSchema.prefault({}),
  tracing: tracingSchema.prefault({}),
  usage: usageSchema.prefault({}),
  ...dialectSections,
  ...builtInSections,
  dialects: z
    .array(z.string().min(1))
    .meta({ shown: true })
    .default([])
    .describe('Dialects of your own, by path or package; each has its options in its own section.'),
  extensions: z
    .array(z.string().min(1))
    .meta({ shown: true })
    .default([])
    .describe('Extensions of your own, by path or package; each has its options in the section of its name.'),
  providers: z
    .record(z.string(), providerSchemaOf(builtInAdapters))
    .describe('Servers that models run on, by names of your own.'),
  routing: routingSchema.prefault({}),
  models: z
    .array(modelSchema)
    .min(1, 'must list at least one model')
    .describe('The catalog: models that clients can ask for.'),
  ...aliasOptions,
  passthrough: z
    .array(passthroughRuleSchema)
    .default([])
    .describe('Other paths that are let through to one provider each, bytes untouched.'),
  plans: plansSchema.default({}).describe('Limits by the name of the plan.'),
  accounts: z
    .record(z.string().min(1), configuredAccountSchema)
    .default({})
    .describe('Accounts by name, with their plans and keys.'),
  tags: allowedTagsSchema
    .default({})
    .describe(
      'Tags that keys may have, by which usage can be grouped: the values of each, by its name. At most 10 names with 100 values each.',
    ),
  stages: z.array(stageEntrySchema).optional().describe('The chain in order; without it the default chain.'),
  stores: storesSchema.prefault({}),
});

/** The configuration with plugins: `sections` are those of dialects beside the built-in ones. */
export function configSchemaOf(adapters: Adapters, sections: Readonly<Record<string, z.ZodType>>) {
  const providers = z.record(z.string(), providerSchemaOf(adapters));
  return configSchema.extend({ ...sections, providers }) as unknown as typeof configSchema;
}

export type { GatewayConfig } from './gateway-config.ts';
export type CheckedConfig = z.output<typeof configSchema>;
