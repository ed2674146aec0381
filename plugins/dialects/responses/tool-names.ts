import { createHash } from 'node:crypto';
import type { DefinedKind } from './defined-tools.ts';

/** A tool as the client calls it. */
export interface ClientTool {
  readonly kind: 'function' | 'custom' | DefinedKind;
  readonly name: string;
  /** The namespace that it was declared in. */
  readonly namespace?: string | undefined;
}

/** A call by the model, of a tool as the client calls it. */
export interface CalledTool {
  readonly id: string;
  readonly tool: ClientTool;
  readonly arguments: string;
}

/** Servers accept function names of these characters only. */
const max_characters = 64;
const refused_characters = /[^a-zA-Z0-9_-]/g;

const keyOf = ({ kind, namespace, name }: ClientTool): string => JSON.stringify([kind, namespace, name]);

/**
 * Function names of the tools of one request. Upstreams know functions only, and no namespaces: `lookup` of the namespace `crm` is
 * `crm__lookup` there.
 */
export class ToolNames {
  readonly #byFunction = new Map<string, ClientTool>();
  readonly #functions = new Map<string, string>();

  /** Gives a tool its function name, unique in this request. Plain functions keep theirs, so declare them first. False if it is declared twice. */
  declare(tool: ClientTool): boolean {
    const key = keyOf(tool);
    if (this.#functions.has(key)) return false;
    let name = isPlain(tool) ? tool.name : nameOf(tool);
    for (let other = 0; this.#byFunction.has(name); other++) name = shortened(name, `${key}${other}`);
    this.#byFunction.set(name, tool);
    this.#functions.set(key, name);
    return true;
  }

  /** The function name of a tool, also of one that is declared no longer and was called earlier. */
  functionOf(tool: ClientTool): string {
    return this.#functions.get(keyOf(tool)) ?? (isPlain(tool) ? tool.name : nameOf(tool));
  }

  /** Whether the request declares this tool. */
  has(tool: ClientTool): boolean {
    return this.#functions.has(keyOf(tool));
  }

  /** The tool with this function name. */
  toolOf(name: string): ClientTool {
    return this.#byFunction.get(name) ?? { kind: 'function', name };
  }
}

const isPlain = ({ kind, namespace }: ClientTool): boolean => kind === 'function' && namespace === undefined;

function nameOf(tool: ClientTool): string {
  const { namespace, name } = tool;
  const whole = namespace === undefined ? name : `${namespace}__${name}`;
  const safe = whole.replace(refused_characters, '_');
  return safe.length > max_characters ? shortened(safe, keyOf(tool)) : safe;
}

/** `name` with the start of a hash, which makes it unique and the same in every turn. */
function shortened(name: string, key: string): string {
  const hash = createHash('sha256').update(key).digest('hex').slice(0, 8);
  return `${name.slice(0, max_characters - hash.length - 1)}_${hash}`;
}
