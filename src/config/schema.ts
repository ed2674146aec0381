import { z } from 'zod';
import { recordsOptions } from '../../plugins/stores/records/records-options.ts';
import { notOneOf } from '../common/config-error.ts';
import { asObject } from '../common/json-object.ts';
import { accountsSchema } from '../gateway/accounts/accounts.ts';
import { isPasswordHash } from '../gateway/accounts/password.ts';
import { modelSchema } from '../gateway/catalog/model-schema.ts';
import { routingSchema } from '../gateway/catalog/routing-schema.ts';
import { bodyLimits } from '../gateway/inbound/body-limits.ts';
import { plansSchema } from '../gateway/limits/plan-limits.ts';
import { replyLimits, streamLimits } from '../gateway/outbound/reply-limits.ts';
import { logSample } from '../gateway/settlement/log-sample.ts';
import { providerBaseSchema } from '../gateway/upstream/http/provider-schema.ts';
import { dialectSections } from './built-in-dialects.ts';
import { type Adapters, builtInAdapters } from './load-adapters.ts';
import { passthroughRuleSchema } from './passthrough-rule.ts';
import { adminOidcSchema, adminProxySchema, portalOidcSchema, roleSchema } from './sign-in-schema.ts';
import { stateOptions } from './state-options.ts';
import { tlsSchema } from './tls-schema.ts';

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

/** A switch that is off by default. */
const off = (description: string) => z.boolean().default(false).describe(description);

const ms = (value: number) => z.int().positive().default(value);

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

const passwordSchema = z
  .string()
  .min(12, 'must have at least 12 characters')
  .describe('The password itself, of at least 12 characters; usually `${NAME}` or `${file:PATH}`.');
const passwordHashSchema = z
  .string()
  .refine(isPasswordHash, 'must be what sluice hash-password prints: scrypt:N:r:p:SALT:KEY')
  .describe('What `sluice hash-password` prints.');

const role = roleSchema
  .default('admin')
  .describe(
    '`admin` may do everything. `operator` changes accounts and keys, but sees neither amounts of money nor the audit log. `viewer` sees everything and changes nothing.',
  );

const operatorSchema = z.union(
  [
    z.strictObject({ password: passwordSchema, role }),
    z.strictObject({ password_hash: passwordHashSchema, role }),
  ],
  'must be an object with password_hash or password, and a role: admin, operator or viewer',
);

export const adminSchema = z.strictObject({
  host: host.describe('Address to listen on; never a public one.'),
  port: port(8081),
  socket: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Path of a Unix socket with the same paths, and with `POST /reload` for `sluice reload`. Only the user of this process may open it. A relative path begins at the directory of the configuration.',
    ),
  tls: tlsSchema.optional().describe('Serve HTTPS on this listener, as `server.tls` does on the other one.'),
  hosts: z
    .array(z.string().min(1))
    .default([])
    .describe(
      'Names in the `Host` header by which this listener may be asked, beside `localhost`, `127.0.0.1`, `[::1]`, its own address and `host`. Without this check a page of another site could read it through a name that it points here.',
    ),
  users: z
    .record(z.string().min(1).max(128), operatorSchema)
    .default({})
    .describe(
      'Who may sign in to the dashboard, by name: `{ password_hash }` as `sluice hash-password` prints it, or `{ password: "${NAME}" }` from the environment, with a `role`. Without these, `oidc` and `proxy` there is no dashboard.',
    ),
  oidc: adminOidcSchema
    .optional()
    .describe(
      'Sign-in by an OpenID provider, beside passwords (needs the package openid-client, to be installed beside sluice).',
    ),
  proxy: adminProxySchema
    .optional()
    .describe('Sign-in by a header of an authenticating proxy, beside the other ways.'),
  session_idle_ms: ms(1_800_000).describe(
    'A session at the dashboard ends when it has not been used for this time.',
  ),
  session_max_ms: ms(43_200_000).describe('A session at the dashboard ends after this time in any case.'),
  trust_proxy: off(
    'Believe the last `X-Forwarded-Proto` and `X-Forwarded-For`: only behind a proxy that sets both, and with no other way to this listener.',
  ),
});

const account = z.string().min(1).describe('The id of the account that they see.');

const customerSchema = z.union(
  [
    z.strictObject({ password: passwordSchema, account }),
    z.strictObject({ password_hash: passwordHashSchema, account }),
  ],
  'must be an object with password_hash or password, and the account',
);

export const portalSchema = z.strictObject({
  enabled: off(
    'Serve the portal, where customers see their own account and issue its keys: below `path` of the public listener, or as `gateway.portal` in an application.',
  ),
  path: z
    .string()
    .max(128)
    .regex(/^(\/[\w.~-]*[\w~-])+$/, 'must be a path such as /portal, without a slash at its end')
    .default('/portal')
    .describe(
      'Where the portal is: on the public listener, or where the application has mounted it. Paths of the API win.',
    ),
  users: z
    .record(z.string().min(1).max(128), customerSchema)
    .default({})
    .describe(
      'Who may sign in, by name, beside those who are invited in the dashboard: `{ password_hash, account }`, or `{ password: "${NAME}", account }`.',
    ),
  oidc: portalOidcSchema
    .optional()
    .describe(
      'Sign-in by an OpenID provider, beside passwords (needs the package openid-client, to be installed beside sluice).',
    ),
  session_idle_ms: ms(1_800_000).describe(
    'A session at the portal ends when it has not been used for this time.',
  ),
  session_max_ms: ms(43_200_000).describe('A session at the portal ends after this time in any case.'),
  max_keys: z
    .int()
    .positive()
    .default(20)
    .describe(
      'Keys of an account that work at the same time, beside those of the configuration; above it customers issue none.',
    ),
  trust_proxy: off(
    'Believe the last `X-Forwarded-Proto` and `X-Forwarded-For`: only behind a proxy that sets both, and with no other way to this listener.',
  ),
});

export const logSchema = z.strictObject({
  level: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .describe('One line per exchange at `info`; refusals of clients at `debug`.'),
  format: z
    .enum(['auto', 'json', 'pretty'])
    .default('auto')
    .describe(
      '`json`: one object per line. `pretty`: one line for people. `auto`: `pretty` on a terminal, else `json`.',
    ),
  sample: logSample,
});

export const metricsSchema = z.strictObject({
  account_label: off(
    'Count requests, tokens and cost by account as well (`sluice_account_*`): three to ten series for each account.',
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

export const storesSchema = z.strictObject({ ...stateOptions, ...recordsOptions });

/** Typed loosely, because the adapters' own options differ; checked strictly. */
type ProviderOption = z.ZodObject<
  typeof providerBaseSchema.shape & { adapter: z.ZodLiteral<string> },
  z.core.$loose
>;

/**
 * A provider: what all have in common, and its adapter's own options with their checks. One whose adapter cannot be used may have any
 * further options.
 */
export function providerSchemaOf(adapters: Adapters) {
  const options = [...adapters].map(([name, definition]) => {
    const common = providerBaseSchema.extend({ adapter: z.literal(name) });
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
  dialects: z
    .array(z.string().min(1))
    .default([])
    .describe('Dialects of your own, by path or package; each has its options in its own section.'),
  providers: z
    .record(z.string(), providerSchemaOf(builtInAdapters))
    .describe('Servers that models run on, by names of your own.'),
  routing: routingSchema.prefault({}),
  models: z
    .array(modelSchema)
    .min(1, 'must list at least one model')
    .describe('The catalog: models that clients can ask for.'),
  passthrough: z
    .array(passthroughRuleSchema)
    .default([])
    .describe('Other paths that are let through to one provider each, bytes untouched.'),
  plans: plansSchema.default({}).describe('Limits by the name of the plan.'),
  accounts: accountsSchema.default({}).describe('Accounts by name, with their plans and keys.'),
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
