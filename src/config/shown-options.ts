import { asObject, isObject, type Json, objectsIn } from '../common/json-object.ts';
import { markedJsonSchema } from './json-schema.ts';

/*
 * Which texts of a configuration may be printed, by its schema: `.meta({ shown: true })` says of an option, and of all below it, that it
 * holds no secret; `.meta({ address: true })` that user, password and query of its address may be secret. A text of any other option is
 * masked, so that an option which is added later is masked until its schema says otherwise.
 */

type Path = readonly PropertyKey[];

let whole: Json | undefined;

/** The schemas that a value may have: those of a union apart, each with what is said of the whole. */
function partsOf(schema: Json): Json[] {
  const parts = [schema.anyOf, schema.oneOf, schema.allOf].flatMap(objectsIn);
  const { shown } = schema;
  return parts.length === 0 ? [schema] : parts.flatMap(part => partsOf({ shown, ...part }));
}

/** The schemas of `name` in a value of one of `schemas`; those that name it win over those that take any name. */
function below(schemas: readonly Json[], name: PropertyKey): Json[] {
  const of = (key: string) => schemas.map(schema => schema[key]).filter(isObject);
  const named = of('properties').flatMap(({ [String(name)]: own }) => (isObject(own) ? own : []));
  const others = typeof name === 'number' ? of('items') : of('additionalProperties');
  return (named.length > 0 ? named : others).flatMap(part => partsOf(asObject(part)));
}

/** The schemas of the option at `path`, or of one above it that says that all below it is shown. */
function schemasAt(path: Path): Json[] {
  whole ??= markedJsonSchema();
  let schemas = partsOf(whole);
  for (const name of path) {
    if (schemas.length > 0 && schemas.every(({ shown }) => shown)) return schemas;
    schemas = below(schemas, name);
  }
  return schemas;
}

const noText = new Set<unknown>(['number', 'integer', 'boolean', 'null', 'array', 'object']);

/** Whether a text at `path` is known to be no secret: its option is shown, or is one of a list of words. */
export function isShown(path: Path): boolean {
  const texts = schemasAt(path).filter(({ shown, type }) => shown || !noText.has(type));
  return texts.length > 0 && texts.every(schema => schema.shown || 'enum' in schema || 'const' in schema);
}

/** Whether the text at `path` is an address, of which user, password and query may be secrets. */
export const isAddress = (path: Path): boolean => schemasAt(path).some(({ address }) => address === true);
