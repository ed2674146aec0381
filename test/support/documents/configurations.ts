import { parseDocument } from 'yaml';
import { builtInStages } from '../../../plugins/index.ts';
import { type ConfigIssue, issuesOf, shownIssue } from '../../../src/common/config-error.ts';
import { valueAt } from '../../../src/common/field-path.ts';
import { asObject, isObject } from '../../../src/common/json-object.ts';
import { expandPart } from '../../../src/config/checked-part.ts';
import { defaultModels } from '../../../src/config/example-models.ts';
import { builtInAdapters } from '../../../src/config/load-adapters.ts';
import { readConfig } from '../../../src/config/read-config.ts';
import { configSchemaOf } from '../../../src/config/schema.ts';
import { type Block, completed } from './blocks.ts';

/** What every configuration must have; a document may show a part of one. */
const complete = {
  providers: { local: { adapter: 'vllm', base_url: 'http://127.0.0.1:8000/v1' } },
  models: defaultModels('local'),
};

/** Files of other programs, by a name that they have at the top. */
const isOther = (value: object): boolean =>
  ['apiVersion', 'services', 'scrape_configs', 'groups', 'route', 'model_list'].some(name =>
    Object.hasOwn(value, name),
  );

/**
 * What is wrong with a `yaml` block as a configuration, or as a part of one. Not checked are values with `…` or a variable in them, and
 * what is missing in a block in which a comment says `…`.
 */
export function faultsOfConfiguration(block: Block): string[] {
  const { text } = completed(block);
  const place = `${block.document}:${block.line}`;
  const { errors, ...document } = parsed(text);
  if (errors.length > 0) return errors.map(message => `${place}: ${message}`);
  const { value } = document;
  if (!isObject(value))
    return [`${place}: is no configuration; <!-- around: … --> says what it is a part of`];
  if (isOther(value)) return [];
  const variables = [...text.matchAll(/\$\{(\w+)/g)].map(([, name]) => [name!, 'from-the-environment']);
  const whole = { ...complete, ...value };
  const part = expandPart(readConfig(whole), Object.fromEntries(variables));
  part.check(schemaFor(whole));
  part.report(issuesOfStages(asObject(part.value).stages));
  return part.issues
    .filter(({ path }) => !/…|\$\{/.test(String(valueAt(whole, path))))
    .filter(({ message }) => !(/#.*…/.test(text) && message.startsWith('is required')))
    .map(issue => `${place}: ${shownIssue(issue)}`);
}

/** The schema, with what own plugins add: the options of their adapters, the sections of their dialects and extensions. */
function schemaFor(whole: Readonly<Record<string, unknown>>) {
  const named = Object.values(asObject(whole.providers)).map(provider => asObject(provider).adapter);
  const own = named.filter(name => typeof name === 'string' && /^[./@]/.test(name)) as string[];
  const schema = configSchemaOf(
    new Map([...builtInAdapters, ...own.map(name => [name, undefined] as const)]),
    {},
  );
  return whole.dialects === undefined && whole.extensions === undefined ? schema : schema.loose();
}

/** What is wrong with the options of built-in stages; those of others are not known. */
function issuesOfStages(stages: unknown): ConfigIssue[] {
  return (Array.isArray(stages) ? stages : []).flatMap((entry: unknown, at) =>
    Object.entries(asObject(entry)).flatMap(([name, options]) => {
      const { schema } = builtInStages.find(({ stageName }) => stageName === name) ?? {};
      const { error } = schema?.safeParse(options ?? {}) ?? {};
      if (!schema || !error) return [];
      const path = ['stages', at, name];
      return issuesOf(error, schema, options).map(issue => ({ ...issue, path: [...path, ...issue.path] }));
    }),
  );
}

function parsed(text: string): { readonly value?: unknown; readonly errors: readonly string[] } {
  const document = parseDocument(text, { schema: 'core' });
  const errors = document.errors.map(({ message }) => message.split('\n')[0]!);
  return errors.length > 0 ? { errors } : { value: document.toJS(), errors };
}
