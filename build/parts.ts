import type { z } from 'zod';
import { configuredAccountSchema } from '../src/config/alias-schema.ts';
import { configurableDialects } from '../src/config/built-in-dialects.ts';
import { configurableExtensions } from '../src/config/built-in-extensions.ts';
import { logSchema } from '../src/config/log-schema.ts';
import { modelDefaultsSchema } from '../src/config/model-defaults-schema.ts';
import { modelSchema, upstreamSchema } from '../src/config/model-schema.ts';
import { passthroughRuleSchema } from '../src/config/passthrough-rule.ts';
import { breakerSchema, healthCheckSchema, providerBaseSchema } from '../src/config/provider-schema.ts';
import { routingSchema } from '../src/config/routing-schema.ts';
import {
  adminSchema,
  metricsSchema,
  serverSchema,
  storesSchema,
  tracingSchema,
  usageSchema,
} from '../src/config/schema.ts';
import { limitOverridesSchema, planSchema } from '../src/gateway/limits/plan-limits.ts';
import { chainOptionsSchema } from '../src/mount/chain/chain-options.ts';
import { accountSchema } from '../src/records/configured-accounts.ts';
import { portalSchema } from '../src/records/sign-in-schema.ts';
import { type Definition, definitionOf, docstring, membersText, type NamedType } from './type-text.ts';

/** A type of options, and the schema that it is written from. */
interface OptionType extends NamedType {
  readonly schema: z.ZodType;
}

export const named = (name: string, doc: string, schema: z.ZodType): OptionType => ({ name, doc, schema });
/** The type of a section, and the table of it. */
const section = (table: string, doc: string, schema: z.ZodType, type = `${pascal(table)}Options`) => ({
  table,
  ...named(type, doc, schema),
});

/** `rate-limit` → `RateLimit` */
export const pascal = (name: string): string =>
  name.replaceAll(/(?:^|[-_.])([a-z])/g, (_, letter: string) => letter.toUpperCase());

export const shapeOf = (schema: z.ZodType) => definitionOf(schema).shape!;

/** Sections and parts of a configuration, and the table of the documents that each has. */
export const parts: readonly (OptionType & { readonly table?: string })[] = [
  section('server', 'The listener for clients, and how requests and replies are bounded.', serverSchema),
  section('admin', 'The listener for operators: metrics, health and the dashboard.', adminSchema),
  section('portal', 'The portal, where customers see their own account.', portalSchema),
  section('log', 'The log of the sidecar.', logSchema),
  section('metrics', 'What is measured beside the usual.', metricsSchema),
  section('tracing', 'What spans contain.', tracingSchema),
  section('usage', 'How tokens are counted that the upstream does not report.', usageSchema),
  ...configurableDialects.map(({ section: name, schema, paths }) =>
    section(name, `Options of \`${Object.keys(paths)[0]}\`.`, schema),
  ),
  ...configurableExtensions.map(({ name, section: table = '', schema }) =>
    section(table, `Options of the extension \`${name}\`.`, schema),
  ),
  section('stores', 'Where limits, keys, accounts and usage are kept.', storesSchema),
  section('routing', 'How an upstream is chosen, and what is tried after a failure.', routingSchema),
  section('breaker', "When a provider's circuit breaker opens, and how it closes again.", breakerSchema),
  section('health_check', 'How the health of a server is checked.', healthCheckSchema),
  section(
    'providers',
    'A provider, beside the options of its adapter.',
    providerBaseSchema,
    'ProviderOptions',
  ),
  section(
    'upstreams',
    'One upstream of a model: the provider, and the name there.',
    upstreamSchema,
    'UpstreamOptions',
  ),
  section(
    'defaults',
    'What requests of a model have if their client has left it out.',
    modelDefaultsSchema,
    'ModelDefaults',
  ),
  section('models', 'A model: its public catalog entry, and how it is served.', modelSchema, 'ModelOptions'),
  section('passthrough', 'A path that is let through to one provider.', passthroughRuleSchema),
  section(
    'plans',
    'Limits of each account of a plan; what is left out is not limited.',
    planSchema,
    'PlanOptions',
  ),
  named('LimitOverrides', 'Limits of one account, in place of those of its plan.', limitOverridesSchema),
  named('AccountOptions', 'An account and its keys.', accountSchema),
  section(
    'accounts',
    'An account of a configuration, and its keys.',
    configuredAccountSchema,
    'ConfiguredAccountOptions',
  ),
];

/** A model of a chain, which needs no upstreams. */
const chainModel = named(
  'ChainModelOptions',
  'A model in front of a handler.',
  definitionOf(definitionOf(chainOptionsSchema.shape.models).innerType!).element!,
);

export const partNames: ReadonlyMap<Definition, NamedType> = new Map(
  [...parts, chainModel].map(part => [definitionOf(part.schema), part]),
);

/** The declaration of an interface. `base` has the members that are the same there. */
export function interfaceText({ name, doc, schema }: OptionType, base?: OptionType): string {
  const inherited = base ? shapeOf(base.schema) : {};
  const own = Object.entries(shapeOf(schema)).filter(([key, member]) => inherited[key] !== member);
  const changed = own.flatMap(([key]) => (Object.hasOwn(inherited, key) ? `'${key}'` : []));
  const above = base && (changed.length > 0 ? `Omit<${base.name}, ${changed.join(' | ')}>` : base.name);
  const members = membersText(Object.fromEntries(own), partNames);
  return `${docstring([doc])}export interface ${name}${above ? ` extends ${above}` : ''} {\n${members}}\n`;
}

/** The declarations of all parts, and of the options of a chain. */
export const partsText = (): string =>
  [
    ...parts.map(part => interfaceText(part)),
    interfaceText(chainModel, partNamed('ModelOptions')),
    interfaceText(
      named('ChainConfig', 'Options of a chain in the form of a configuration.', chainOptionsSchema),
    ),
    checkedText('ModelConfig', 'A model', modelSchema),
    checkedText('ProviderConfig', 'A provider', providerBaseSchema),
    checkedText('RoutingConfig', 'The section `routing`', routingSchema),
    checkedText('ServerConfig', 'The section `server`', serverSchema),
  ].join('\n');

/** The declaration of what a schema makes of its input. */
const checkedText = (name: string, what: string, schema: z.ZodType): string =>
  `${docstring([`${what} as it is checked: every default is filled in.`])}export interface ${name} {\n${membersText(shapeOf(schema), 'checked')}}\n`;

export const partNamed = (name: string): OptionType => parts.find(part => part.name === name)!;

/** The import of those parts that `text` names. */
export function importOfParts(text: string, from: string): string {
  const used = parts.map(({ name }) => name).filter(name => new RegExp(`\\b${name}\\b`).test(text));
  return used.length === 0 ? '' : `import type { ${used.toSorted().join(', ')} } from '${from}';\n`;
}
