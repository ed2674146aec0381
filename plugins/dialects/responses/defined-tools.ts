import { z } from 'zod';
import {
  exceeds,
  isObject,
  type Json,
  max_arguments_size,
  requestFields,
  type Tool,
} from '../../../src/plugin.ts';

const { anyObject, nonEmptyText } = requestFields;

/** Tools that OpenAI defines and the client runs. Upstreams get them as functions. */
interface DefinedTool {
  readonly description: string;
  /** JSON Schema of the function's arguments. */
  readonly parameters: Json;
  /** The member of its calls that says what to do. */
  readonly member: 'action' | 'operation';
  /** That member, of a function's arguments. */
  memberOf(given: Json): Json;
}

const texts = { type: 'array', items: { type: 'string' } };
const milliseconds = { type: 'integer', description: 'How long it may take, in milliseconds.' };
const schemaOf = (properties: Json, ...required: string[]): Json => ({
  type: 'object',
  properties,
  required,
});
const textsIn = (value: unknown): unknown[] =>
  Array.isArray(value) ? value.filter(one => typeof one === 'string') : [];

const definedTools = {
  local_shell: {
    description: 'Runs a command on the local machine.',
    parameters: schemaOf(
      {
        command: { ...texts, description: 'The program and its arguments.' },
        working_directory: { type: 'string' },
        timeout_ms: milliseconds,
      },
      'command',
    ),
    member: 'action',
    memberOf: given => ({ ...given, type: 'exec', command: textsIn(given.command), env: given.env ?? {} }),
  },
  shell: {
    description: 'Runs shell commands on the local machine, each in a shell of its own.',
    parameters: schemaOf({ commands: texts, timeout_ms: milliseconds }, 'commands'),
    member: 'action',
    memberOf: given => ({
      max_output_length: null,
      timeout_ms: null,
      ...given,
      commands: textsIn(given.commands),
    }),
  },
  apply_patch: {
    description: 'Creates, changes or deletes a file.',
    parameters: schemaOf(
      {
        type: { type: 'string', enum: ['create_file', 'update_file', 'delete_file'] },
        path: { type: 'string' },
        diff: { type: 'string', description: 'A V4A diff; not for delete_file.' },
      },
      'type',
      'path',
    ),
    member: 'operation',
    memberOf: given => given,
  },
} as const satisfies Record<string, DefinedTool>;

/** Type of such a tool. */
export type DefinedKind = keyof typeof definedTools;

export const definedKinds = Object.keys(definedTools) as DefinedKind[];

/** Whether a type is that of such a tool. */
export const isDefined = (type: unknown): type is DefinedKind =>
  typeof type === 'string' && Object.hasOwn(definedTools, type);

/** The tool as a function with this name. */
export function functionOfDefined(kind: DefinedKind, name: string): Tool {
  const { description, parameters } = definedTools[kind];
  return { type: 'function', function: { name, description, parameters } };
}

/** What a call says beside its id, from the arguments of its function; what is no JSON object says nothing. */
export function definedCallOf(kind: DefinedKind, text: string): Json {
  const { member, memberOf } = definedTools[kind];
  return {
    [member]: memberOf(objectIn(text) ?? {}),
    ...(kind === 'shell' && { environment: { type: 'local' } }),
  };
}

/** The object that a text is in JSON; undefined for anything else, and for what is too large to be parsed again. */
export function objectIn(text: string): Json | undefined {
  if (!text.trimEnd().endsWith('}') || exceeds(text, max_arguments_size)) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A call of such a tool that the client sends back: its id and the arguments of its function. */
export const definedCallSchema = (kind: DefinedKind) => {
  const { member } = definedTools[kind];
  return z
    .object({ call_id: nonEmptyText, [member]: anyObject })
    .transform(given => ({ id: String(given.call_id), arguments: JSON.stringify(given[member]) }));
};

/** The result of such a tool as a text: as it is, or what it has beside its ids as JSON. */
export const definedOutputSchema = z
  .looseObject({
    call_id: nonEmptyText.nullish(),
    id: nonEmptyText.nullish(),
    status: z.unknown().optional(),
    output: z.unknown().optional(),
  })
  .refine(({ call_id, id }) => call_id ?? id, { path: ['call_id'], message: 'must be a string' })
  .transform(({ call_id, id, status, output }) => ({
    id: (call_id ?? id)!,
    content: typeof output === 'string' && status == null ? output : JSON.stringify({ status, output }),
  }));
