import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import { parts } from '../../../build/parts.ts';
import { builtInStages } from '../../../plugins/index.ts';
import { mailSchema, webhookSchema } from '../../../plugins/notices/options.ts';
import { presets } from '../../../plugins/providers/presets/table.ts';
import { builtInProviders } from '../../../plugins/providers.ts';
import { tlsSchema } from '../../../src/config/certificate-files.ts';
import { retentionSchema } from '../../../src/config/records-options.ts';
import { configSchema } from '../../../src/config/schema.ts';
import { outagePolicySchema } from '../../../src/config/state-options.ts';
import {
  type ErrorCode,
  type ErrorRow,
  errorCatalogue,
  errorHeaders,
  refusal,
} from '../../../src/gateway/exchange/errors.ts';
import { limitNames } from '../../../src/gateway/limits/limit-table.ts';
import { ruleSchemas } from '../../../src/gateway/limits/plan-limits.ts';
import { failureKinds, failureMeanings } from '../../../src/gateway/upstream/attempt/attempt-failure.ts';
import { openAiParameters } from '../../../src/gateway/upstream/openai/openai-adapter.ts';
import { chainOptionsSchema } from '../../../src/mount/chain/chain-options.ts';
import { adminOidcSchema, adminProxySchema, portalOidcSchema } from '../../../src/records/sign-in-schema.ts';
import { clientTable } from '../../clients/table.ts';
import { estimateTable } from '../estimate-table.ts';
import {
  adminApiErrors,
  adminApiObjects,
  adminApiParameters,
  adminApiRoutes,
} from './admin-api-reference.ts';
import { alertSections, inhibitTable } from './alerts-page.ts';
import { commandReference } from './command-reference.ts';
import { otherMessagesList, warningsList } from './log-messages.ts';
import { helperRows, memberTable } from './member-table.ts';
import { metricsTable } from './metrics-table.ts';
import { noticeTable } from './notice-table.ts';
import { escaped, shownValue } from './passages.ts';

const metrics = await metricsTable();

/**
 * The tables of the documents, made from the schemas, the error catalogue, the metrics, what clients were seen to do and the measured error of the token estimator.
 * They stand between `<!-- table: NAME -->` and `<!-- end -->`; a test holds them equal, `npm run docs` writes them.
 */
const tables: Record<string, () => string> = {
  errors: errorTable,
  remedies: remedySections,
  commands: commandReference,
  'admin api routes': adminApiRoutes,
  'admin api parameters': adminApiParameters,
  'admin api objects': adminApiObjects,
  'admin api errors': adminApiErrors,
  clients: clientTable,
  presets: presetTable,
  'failure kinds': failureTable,
  estimator: estimateTable,
  'all metrics': () => metrics,
  'gateway members': () => memberTable(['src/mount/gateway.ts', 'Gateway']),
  'chain members': () => memberTable(['src/mount/chain/create-chain.ts', 'ChainHandler']),
  ...memberTables(),
  'all alerts': alertSections,
  'inhibited alerts': inhibitTable,
  'warnings of the configuration': warningsList,
  'other log messages': otherMessagesList,
  'notice types': noticeTable,
  ...optionTables({
    'server tls': tlsSchema,
    'admin oidc': adminOidcSchema,
    'admin proxy': adminProxySchema,
    'portal oidc': portalOidcSchema,
    'stores on_state_store_down': outagePolicySchema,
    'stores retention': retentionSchema,
    'notices webhooks': webhookSchema,
    'notices mail': mailSchema,
    chain: chainOptionsSchema,
    // With every field that the object of a limit can have.
    limit: ruleSchemas.usd_per_month,
  }),
  ...optionTables(
    Object.fromEntries([
      ...parts.flatMap(({ table, schema }) => (table ? [[table, schema] as const] : [])),
      ...builtInStages.map(({ stageName, schema }) => [`stage ${stageName}`, schema] as const),
      ...builtInProviders
        .filter(({ name }) => !presets.some(preset => preset.name === name))
        .map(({ name, schema }) => [`adapter ${name}`, schema] as const),
    ]),
  ),
};

/** What plugins see and give, by the interface. */
function memberTables(): Record<string, () => string> {
  const openai = 'src/gateway/upstream/openai';
  const files = {
    Stage: 'src/gateway/exchange/stage.ts',
    StageSetup: 'src/gateway/exchange/stage-plan.ts',
    ExchangeView: 'src/gateway/exchange/exchange-view.ts',
    ChatRequest: 'src/gateway/exchange/canonical.ts',
    Outcome: 'src/gateway/exchange/exchange-view.ts',
    StreamTransformer: 'src/gateway/exchange/stream.ts',
    TextMap: 'plugins/stages/redact/text/map-text.ts',
    ContractOptions: 'src/testing/contract-options.ts',
    ProviderDefinition: 'src/gateway/upstream/adapter.ts',
    Adapter: 'src/gateway/upstream/adapter.ts',
    Target: 'src/gateway/upstream/adapter.ts',
    UpstreamRequest: 'src/gateway/upstream/adapter.ts',
    StreamDecoder: 'src/gateway/exchange/canonical.ts',
    AdapterContract: 'src/testing/adapter/adapter-contract.ts',
    DialectFacts: 'src/gateway/dialects/define-dialect.ts',
    GenerationFormat: 'src/gateway/dialects/define-dialect.ts',
    StreamRenderer: 'src/gateway/dialects/define-dialect.ts',
    ExtensionContext: 'src/records/define-extension.ts',
    OpenExtension: 'src/records/define-extension.ts',
    RecordsPlace: 'src/records/define-records-store.ts',
  };
  return {
    ...Object.fromEntries(
      Object.entries(files).map(([name, file]) => [`plugin ${name}`, () => memberTable([file, name])]),
    ),
    'plugin metrics': () =>
      memberTable(
        ['src/telemetry/metric.ts', 'MetricDefinition'],
        ['src/telemetry/metric-kinds.ts', 'HistogramDefinition'],
      ),
    'plugin helpers': () =>
      [
        '| | |',
        '|---|---|',
        ...helperRows('src/gateway/exchange/canonical.ts', 'textOf', 'usageOf', 'tokenCount'),
        ...helperRows('src/gateway/exchange/assemble-reply.ts', 'ReplyAssembler'),
        ...helperRows('src/gateway/exchange/from-generator.ts', 'fromGenerator'),
        ...helperRows('plugins/stages/redact/text/map-text.ts', 'mapText'),
        ...helperRows('src/gateway/upstream/http/decode-reply.ts', 'eventObject'),
        ...helperRows('src/gateway/upstream/http/upstream-error.ts', 'UpstreamError'),
        ...helperRows(`${openai}/finish-reason.ts`, 'finishOf'),
        ...helperRows(`${openai}/effort-fields.ts`, 'effortFields'),
        ...helperRows(`${openai}/openai-format.ts`, 'newCallId'),
        ...helperRows('src/gateway/upstream/tool-arguments.ts', 'checkToolArguments', 'toolArguments'),
        ...helperRows('src/gateway/upstream/reply-bounds.ts', 'atMost'),
        ...helperRows('src/common/reasoning-cache.ts', 'ReasoningCache'),
        ...helperRows('src/gateway/dialects/request-schema/first-fault.ts', 'parseBody', 'arrayOf'),
        ...helperRows('src/gateway/dialects/request-schema/unknown-fields.ts', 'setAsideUnknown'),
        ...helperRows('src/common/decode-path.ts', 'decodePath'),
        ...helperRows('src/records/call-handler.ts', 'callHandler'),
      ].join('\n'),
    'plugin openAiAdapter': () =>
      memberTable(
        [`${openai}/openai-adapter.ts`, 'OpenAiServer'],
        [`${openai}/openai-stream-decoder.ts`, 'OpenAiStreamOptions'],
        [`${openai}/openai-messages.ts`, 'OpenAiMessageForm'],
        [`${openai}/openai-format.ts`, 'OpenAiReplyOptions'],
      ),
  };
}

tables['top level'] = topLevelTable;

/** The options at the top level that are no section with a table of its own. */
function topLevelTable(): string {
  const own = Object.entries(configSchema.shape).filter(([name]) => !(name in tables) && name !== 'stages');
  return optionTable(z.object(Object.fromEntries(own)));
}

function optionTables(schemas: Readonly<Record<string, z.ZodType>>): Record<string, () => string> {
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name, () => optionTable(schema)]),
  );
}

interface JsonProperty {
  type?: string | string[];
  enum?: unknown[];
  anyOf?: JsonProperty[];
  const?: unknown;
  default?: unknown;
  description?: string;
  properties?: Record<string, JsonProperty>;
  required?: string[];
  items?: JsonProperty;
}

/** Options with a table of their own, which is not repeated where they are an option of another table. */
const apart: ReadonlySet<string> = new Set([
  ...['tls', 'oidc', 'proxy', 'breaker', 'health_check', 'on_state_store_down', 'retention', 'mail'],
  ...['upstreams', 'routing', 'defaults', 'limits', 'paid_prices'],
  ...['models', 'chat_completions', 'responses', 'messages'],
  ...limitNames,
]);

function optionTable(schema: z.ZodType): string {
  const described = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonProperty;
  const rows = rowsOf(described.anyOf?.find(one => one.properties) ?? described);
  if (rows.length === 0) return 'No options.';
  return ['| option | type | default | |', '|---|---|---|---|', ...rows].join('\n');
}

function rowsOf({ properties = {}, required = [] }: JsonProperty, above = ''): string[] {
  return Object.entries(properties).flatMap(([name, property]) => {
    const given = required.includes(name) ? '**required**' : shownValue(property.default);
    const row = `| \`${above}${name}\` | ${typeOf(property)} | ${given} | ${property.description ?? ''} |`;
    return [row, ...(apart.has(name) ? [] : nestedRows(property, `${above}${name}`))];
  });
}

/** The options of an object, and of the objects of a list. */
const nestedRows = (property: JsonProperty, name: string): string[] =>
  [property, ...(property.anyOf ?? [])].flatMap(one => [
    ...rowsOf(one, `${name}.`),
    ...(one.items?.properties ? rowsOf(one.items, `${name}[].`) : []),
  ]);

function typeOf(property: JsonProperty): string {
  if (property.enum) return property.enum.map(shownValue).join(', ');
  if (property.anyOf) return property.anyOf.map(typeOf).join(', ');
  if (property.const !== undefined) return shownValue(property.const);
  return [property.type ?? 'any'].flat().join(', ');
}

function errorTable(): string {
  const rows = Object.entries<ErrorRow>(errorCatalogue).map(([code, { status, type, when, message }]) => {
    const headers = errorHeaders(refusal(code as ErrorCode));
    const told = ['retry-after', 'x-should-retry'].flatMap(name =>
      headers[name] === undefined ? [] : [`\`${name}: ${headers[name]}\``],
    );
    return `| ${status} | \`${type}\` | \`${code}\` | ${when} | ${told.join(', ')} | ${escaped(message)} |`;
  });
  return [
    '| status | `type` | `code` | when | header | usual message |',
    '|---|---|---|---|---|---|',
    ...rows,
  ].join('\n');
}

/** A section for each error, with what helps. */
function remedySections(): string {
  return Object.entries<ErrorRow>(errorCatalogue)
    .map(([code, { status, type, message, remedy }]) =>
      [`### ${code}`, `${status} \`${type}\`: ${message}`, remedy].join('\n\n'),
    )
    .join('\n\n');
}

function failureTable(): string {
  const rows = failureKinds.map(kind => `| \`${kind}\` | ${failureMeanings[kind]} |`);
  return ['| kind | the provider |', '|---|---|', ...rows].join('\n');
}

function presetTable(): string {
  const rows = presets.map(
    ({ name, title, source, base_url, address = '', takes, isSingle, reasoningName }) => {
      const lacks = (Object.keys(openAiParameters) as (keyof typeof openAiParameters)[]).filter(
        parameter => openAiParameters[parameter] && !takes.includes(parameter),
      );
      const left = [...(isSingle ? ['n'] : []), ...lacks].map(parameter => `\`${parameter}\``).join(', ');
      const where = base_url === undefined ? `to be given: \`${address}\`` : `\`${base_url}\``;
      return `| \`${name}\` | [${title}](${source}) | ${where} | ${left || 'none'} | ${reasoningName ? `\`${reasoningName}\`` : 'not sent'} |`;
    },
  );
  const head =
    '| adapter | speaks to | `base_url` | parameters that it does not take | reasoning sent back |';
  return [head, '|---|---|---|---|---|', ...rows].join('\n');
}

/** `markdown` with every table as it should be. Throws for a table that nothing makes. */
export function withTables(markdown: string): string {
  return markdown.replace(
    /(<!-- table: (.+?) -->\n)[\s\S]*?(<!-- end -->)/g,
    (_, begin: string, name: string, end: string) => {
      const table = tables[name];
      if (!table) throw new Error(`there is no table '${name}'`);
      return `${begin}${table()}\n${end}`;
    },
  );
}

/** The documents that have tables. */
export const pagesWithTables: readonly string[] = [
  ...globSync('docs/**/*.md', { cwd: new URL('../../../', import.meta.url), exclude: ['docs/api/**'] }),
];

/** The tables that the documents must have, each once: every option of the project is documented. */
export const tableNames: readonly string[] = Object.keys(tables);

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const root = new URL('../../../', import.meta.url);
  for (const page of pagesWithTables) {
    const file = new URL(page, root);
    writeFileSync(file, withTables(readFileSync(file, 'utf8')));
  }
}
