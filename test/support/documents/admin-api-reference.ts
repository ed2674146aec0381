import { apiErrors } from '../../../plugins/admin-api/api-error.ts';
import { openApiDocument } from '../../../plugins/admin-api/open-api.ts';
import { permissions } from '../../../plugins/admin-api/permissions.ts';
import { routes } from '../../../plugins/admin-api/routes/index.ts';
import { escaped, shownValue } from './passages.ts';

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  readonly format?: string;
  readonly default?: unknown;
  readonly description?: string;
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

type Content = Readonly<Record<string, { readonly schema: Schema }>>;

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly tags: readonly [string];
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}

interface Field {
  readonly name: string;
  readonly place: string;
  readonly type: string;
  readonly fallback: string;
  readonly text: string;
}

const document = openApiDocument(routes) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
};
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    operation,
    route: `\`${method.toUpperCase()} ${path}\``,
  })),
);
const permissionOf = new Map(routes.map(({ name, permission }) => [name, permissions[permission]]));

/** Every route with the roles that may use it, what it takes and what it answers. */
export function adminApiRoutes(): string {
  const rows = operations.map(({ operation, route }) => {
    const { operationId, summary, responses } = operation;
    const [[status, { content = {} }] = ['', {}]] = Object.entries(responses);
    const roles = permissionOf.get(operationId)!.join(', ');
    const body = Object.entries(content)
      .map(([type, { schema }]) => (type === 'application/json' ? typeOf(schema) : type))
      .join(', ');
    return `| ${route} | ${roles} | ${summary} | ${status} ${body} |`;
  });
  return ['| route | roles | | answer |', '|---|---|---|---|', ...rows].join('\n');
}

/** What the routes take: parameters of the path and the query, headers, and fields of the body. */
export function adminApiParameters(): string {
  const taken = new Map<string, { readonly field: Field; readonly routes: string[] }>();
  for (const { operation, route } of operations)
    for (const field of fieldsOf(operation)) {
      const key = JSON.stringify([operation.tags, field]);
      const known = taken.get(key) ?? { field, routes: [] };
      known.routes.push(route);
      taken.set(key, known);
    }
  const rows = [...taken.values()].map(
    ({ field: { name, place, type, fallback, text }, routes: of }) =>
      `| \`${name}\` | ${place} | ${of.join(', ')} | ${type} | ${fallback} | ${text} |`,
  );
  return ['| parameter | in | of | type | default | |', '|---|---|---|---|---|---|', ...rows].join('\n');
}

function fieldsOf({ parameters, requestBody }: Operation): Field[] {
  const given = parameters.map(({ name, in: place, required = false, description = '', schema }) =>
    fieldOf(name, place, schema, required, description),
  );
  const { properties = {}, required = [] } = resolved(requestBody?.content['application/json']?.schema ?? {});
  const body = Object.entries(properties).map(([name, schema]) =>
    fieldOf(name, 'body', schema, required.includes(name), schema.description ?? ''),
  );
  return [...given, ...body];
}

const fieldOf = (name: string, place: string, schema: Schema, isRequired: boolean, text: string): Field => ({
  name,
  place,
  type: typeOf(schema),
  fallback: isRequired ? '**required**' : shownValue(schema.default),
  text,
});

/** The objects of the answers, with their fields. */
export function adminApiObjects(): string {
  const rows = Object.entries(document.components.schemas)
    .filter(([name]) => name !== 'Error' && !name.endsWith('List'))
    .flatMap(([object, { properties = {} }]) =>
      Object.entries(properties).map(
        ([name, schema]) => `| ${object} | \`${name}\` | ${typeOf(schema)} | ${schema.description ?? ''} |`,
      ),
    );
  return ['| object | field | type | |', '|---|---|---|---|', ...rows].join('\n');
}

/** The errors of the API by their code. */
export function adminApiErrors(): string {
  const rows = Object.entries<readonly [number, string, string]>(apiErrors).map(
    ([code, [status, type, message]]) => `| ${status} | \`${type}\` | \`${code}\` | ${escaped(message)} |`,
  );
  return ['| status | `type` | `code` | usual message |', '|---|---|---|---|', ...rows].join('\n');
}

const resolved = (schema: Schema): Schema =>
  schema.$ref === undefined ? schema : (document.components.schemas[nameOf(schema.$ref)] ?? {});
const nameOf = (reference: string): string => reference.split('/').at(-1)!;

function typeOf(schema: Schema): string {
  const { object, data } = resolved(schema).properties ?? {};
  if (object?.const === 'list' && data?.items) return `list of ${typeOf(data.items)}`;
  if (schema.$ref !== undefined) return nameOf(schema.$ref);
  if (schema.enum) return schema.enum.map(shownValue).join(', ');
  if (schema.const !== undefined) return shownValue(schema.const);
  if (schema.anyOf) return [...new Set(schema.anyOf.map(typeOf))].join(', ');
  if (schema.type === 'array' && schema.items) return `array of ${typeOf(schema.items)}`;
  if (schema.format === 'date-time') return 'time';
  return [schema.type ?? 'any'].flat().join(', ');
}
