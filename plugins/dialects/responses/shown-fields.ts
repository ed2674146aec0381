import { type ChatRequest, isObject } from '../../../src/plugin.ts';

/** Tools as repeated in a reply. */
export function shownTools(tools: ChatRequest['tools'] = []): object[] {
  return tools.map(({ function: { name, description, parameters, strict } }) => ({
    type: 'function',
    name,
    description: description ?? null,
    parameters: parameters ?? null,
    strict: strict ?? null,
  }));
}

/** The choice of tools as repeated in a reply. */
export function shownToolChoice(choice: unknown): unknown {
  const called = isObject(choice) && isObject(choice.function) ? choice.function : undefined;
  return called ? { type: 'function', name: called.name } : (choice ?? 'auto');
}

/** The format of the text as repeated in a reply. */
export function shownFormat(format: unknown): object {
  if (!isObject(format)) return { type: 'text' };
  return isObject(format.json_schema) ? { type: 'json_schema', ...format.json_schema } : format;
}
