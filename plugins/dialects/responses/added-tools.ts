import { isObject, type Json } from '../../../src/plugin.ts';

/** Items of the input that bring tools along: Codex declares all of its own so, and a search for tools finds some. */
const bringers: ReadonlySet<unknown> = new Set(['additional_tools', 'tool_search_output']);

const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const keyOf = ({ type, name }: Json): string => JSON.stringify([type, name]);

/** The body with the tools that items of its input bring in `tools`, each once; the body itself if there are none. */
export function withAddedTools(body: Json): Json {
  const items = listIn(body.input).filter(item => isObject(item) && bringers.has(item.type)) as Json[];
  if (items.length === 0) return body;
  const tools = new Map<string, Json>();
  for (const tool of [body, ...items].flatMap(({ tools }) => listIn(tools)))
    if (isObject(tool)) tools.set(keyOf(tool), merged(tools.get(keyOf(tool)), tool));
  return { ...body, tools: [...tools.values()] };
}

/** The later of two declarations of a tool; a namespace has the tools of both. */
function merged(before: Json | undefined, tool: Json): Json {
  if (before?.type !== 'namespace') return tool;
  const inner = [...listIn(before.tools), ...listIn(tool.tools)].filter(isObject);
  return { ...tool, tools: [...new Map(inner.map(one => [keyOf(one), one])).values()] };
}
