import type { Item } from './input-items.ts';
import type { AnyTool } from './tool-list.ts';

const keyOf = (tool: AnyTool): string =>
  JSON.stringify([tool.type, 'name' in tool ? tool.name : 'search' in tool]);

/** Tools that items of the input bring along: Codex declares all of its own so, and a search for tools finds some. */
export const toolsIn = (items: readonly Item[]): AnyTool[] =>
  items.flatMap(item => ('tools' in item ? item.tools : []));

/** The tools that are declared and those that items bring, each once: the later of two, but a namespace has the tools of both. */
export function withAddedTools(declared: readonly AnyTool[], added: readonly AnyTool[]): readonly AnyTool[] {
  if (added.length === 0) return declared;
  const tools = new Map<string, AnyTool>();
  for (const tool of [...declared, ...added]) tools.set(keyOf(tool), merged(tools.get(keyOf(tool)), tool));
  return [...tools.values()];
}

function merged(before: AnyTool | undefined, tool: AnyTool): AnyTool {
  if (before?.type !== 'namespace' || tool.type !== 'namespace') return tool;
  const inner = new Map([...before.tools, ...tool.tools].map(one => [keyOf(one), one]));
  return { ...tool, tools: [...inner.values()] };
}
