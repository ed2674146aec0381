import { z } from 'zod';
import { permissions } from './permissions.ts';
import type { Route } from './route.ts';

type JsonSchema = Record<string, unknown>;
type Schemas = Record<string, JsonSchema>;

const errorSchema = {
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['message', 'type', 'param', 'code'],
      properties: {
        message: { type: 'string', description: 'For people.' },
        type: { type: 'string' },
        param: { type: ['string', 'null'], description: 'The field or header at fault.' },
        code: { type: ['string', 'null'], description: 'For programs.' },
      },
    },
  },
};

const headers = {
  if_match: {
    name: 'If-Match',
    in: 'header',
    description: 'The `ETag` that the record must still have; otherwise 412.',
    schema: { type: 'string' },
  },
  once: {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'The same request with the same key within 24 hours is carried out once, and has the same answer; another request with it is answered 422.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
  },
};

/** The OpenAPI document of `routes`, in version 3.1. */
export function openApiDocument(routes: readonly Route[]): Record<string, unknown> {
  const schemas: Schemas = { Error: errorSchema };
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes)
    (paths[route.path] ??= {})[route.method.toLowerCase()] = operationOf(route, schemas);
  return {
    openapi: '3.1.1',
    info: {
      title: 'sluice Admin API',
      version: '1',
      description: 'Accounts, keys, usage and all else that operators of a sluice see and change.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/admin-api/v1', description: 'At the admin listener' }],
    security: [{ key: [] }],
    paths,
    components: {
      securitySchemes: { key: { type: 'http', scheme: 'bearer', description: 'A key of this API.' } },
      responses: {
        Error: { description: 'What is wrong.', ...jsonOf({ $ref: '#/components/schemas/Error' }) },
      },
      schemas,
    },
  };
}

function operationOf(route: Route, schemas: Schemas): object {
  const { name, path, summary, permission, status, body, content_type } = route;
  const etag = { ETag: { description: 'Version of the record, if it has one.', schema: { type: 'string' } } };
  return {
    operationId: name,
    tags: [path.split('/')[1]!],
    summary,
    description: `For keys with the role ${permissions[permission].join(' or ')}.`,
    parameters: [
      ...parametersOf(route.params, 'path', schemas),
      ...parametersOf(route.query, 'query', schemas),
      ...(route.if_match ? [headers.if_match] : []),
      ...(route.once ? [headers.once] : []),
    ],
    ...(body && { requestBody: { required: true, ...jsonOf(schemaOf(body, 'input', schemas)) } }),
    responses: {
      [status]: {
        description: summary,
        headers: etag,
        ...contentOf(content_type, schemaOf(route.reply, 'output', schemas)),
      },
      default: { $ref: '#/components/responses/Error' },
    },
  };
}

function parametersOf(schema: z.ZodObject, place: 'path' | 'query', schemas: Schemas): object[] {
  const { properties = {}, required = [] } = schemaOf(schema, 'input', schemas) as {
    readonly properties?: Schemas;
    readonly required?: readonly string[];
  };
  return Object.entries(properties).map(([name, { description, ...property }]) => ({
    name,
    in: place,
    required: required.includes(name),
    description,
    schema: property,
  }));
}

const contentOf = (type: string, schema: object) => ({ content: { [type]: { schema } } });
const jsonOf = (schema: object) => contentOf('application/json', schema);

/** JSON Schema of what goes in or comes out; the parts of it that have names are put into `schemas`. */
function schemaOf(schema: z.ZodType, io: 'input' | 'output', schemas: Schemas): JsonSchema {
  const made = z.toJSONSchema(schema, { io, unrepresentable: 'any', override: simplified(io) });
  const text = JSON.stringify(made).replaceAll('"#/$defs/', '"#/components/schemas/');
  const { $schema: _, $defs = {}, ...rest } = JSON.parse(text) as JsonSchema & { $defs?: Schemas };
  Object.assign(schemas, $defs);
  return rest;
}

/** Replies may get further fields, and the format says all of a time. */
const simplified =
  (io: 'input' | 'output') =>
  ({ jsonSchema }: { jsonSchema: JsonSchema }): void => {
    if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
    if (jsonSchema.format === 'date-time') delete jsonSchema.pattern;
  };
