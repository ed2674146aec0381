import { type Block, completed } from './blocks.ts';
import type { UserProject } from './user-project.ts';

/**
 * What the compiler finds wrong with `ts` blocks, each with its place in the document. Every block is a module; blocks of one document
 * stand in one folder, so that they can import each other. A file that the document does not have is that of the page on which it builds.
 */
export function faultsOfBlocks(blocks: readonly Block[], project: UserProject): string[] {
  const placed = new Map<string, { readonly block: Block; readonly text: string; readonly above: number }>();
  for (const block of blocks) {
    const name = block.saved ?? block.file ?? `line-${block.line}.ts`;
    placed.set(`application/${block.document}.blocks/${name}`, { block, ...completed(block) });
  }
  if (placed.size < blocks.length) return ['two blocks of a document are saved as one file'];
  for (const { document, code } of blocks)
    for (const [, name] of code.matchAll(/ from '\.\/([\w-]+\.ts)'/g)) {
      const path = `application/${document}.blocks/${name}`;
      const block = placed.has(path) ? undefined : blocks.find(({ file }) => file === name);
      if (block) placed.set(path, { block, ...completed(block) });
    }
  const files = new Map([...placed].map(([path, { text }]) => [path, text]));
  return project.faultsOf(files).map(({ file, line, message }) => {
    const { block, above = 0 } = placed.get(file) ?? {};
    return block
      ? `${block.document}:${block.line + line - 1 - above}: ${message}`
      : `${file}:${line}: ${message}`;
  });
}
