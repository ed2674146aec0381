import { refusal } from '../errors.ts';

const max_levels = 64;
/** JSON schemas of tools are deeper than conversations. */
const max_levels_in_tools = 256;

/**
 * Refuses nesting that JSON.parse takes but JSON.stringify and recursive code do not (protocol m15). The walk itself
 * goes no deeper than the limit.
 */
export function checkDepth(body: Record<string, unknown>): void {
  for (const name in body) {
    const limit = name === 'tools' ? max_levels_in_tools : max_levels;
    if (isDeeper(body[name], limit - 1)) {
      throw refusal('invalid_request', {
        message: `${name.slice(0, 64)}: is nested more than ${limit} levels deep.`,
        param: name,
      });
    }
  }
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) {
    for (const element of value) if (isDeeper(element, levels - 1)) return true;
    return false;
  }
  for (const key in value) if (isDeeper((value as Record<string, unknown>)[key], levels - 1)) return true;
  return false;
}
