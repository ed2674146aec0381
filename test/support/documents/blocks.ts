import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../../', import.meta.url));

/** A fenced block of code in a document, or in an `@example` of a docstring. */
export interface Block {
  /** Path from the root of the project. */
  readonly document: string;
  /** Line of the block's first line of code, from 1. */
  readonly line: number;
  readonly language: string;
  readonly code: string;
  /** The name under which later blocks of the document import it: `<!-- save as: my-stage.ts -->` before the block. */
  readonly saved?: string;
  /** Code in which the block stands in place of `…`: `<!-- around: defineStage({ … }); -->` before the block. */
  readonly around?: string;
  /** The file that the block is, by the line above it, which ends with the name: "Save this as `sluice.yaml`:". */
  readonly file?: string;
  /** Whether it is the end of that file: "Append this to `sluice.yaml`:". */
  readonly appended?: boolean;
}

/** Every document that users and contributors read, but the reference that is written from docstrings. */
export const documents: readonly string[] = globSync(
  ['{README,CONTRIBUTING}.md', '{docs,examples,grafana}/**/*.md'],
  { cwd: root, exclude: ['docs/api/**'] },
).toSorted();

export const read = (document: string): string => readFileSync(join(root, document), 'utf8');

/** The blocks of all documents. */
export const blocksOfDocuments = (): Block[] =>
  documents.flatMap(document => blocksOf(document, read(document)));

/** The blocks of all examples in docstrings of what is published. */
export function blocksOfDocstrings(): Block[] {
  return globSync('{src,plugins}/**/*.ts', { cwd: root }).flatMap(file => {
    const text = read(file);
    if (!text.includes('@example')) return [];
    const docstrings = text.replace(/^.*$/gm, line => /^\s*(?:\/\*)?\*+\/? ?(.*)$/.exec(line)?.[1] ?? '');
    return blocksOf(file, docstrings);
  });
}

const fence =
  /(?:<!--\s*(save as|around):([\s\S]*?)-->\s*)?^([ \t]*)```(\w*)[^\n]*\n([\s\S]*?)^\3```[ \t]*$/dgm;

/** A line that ends with a path that has a file's ending, or that ends with a program's usual file: no address, and no price. */
const named = /^.*`((?:[\w.@-]+\/)*[\w@-]*(?:\.[a-z][\w.]*|Caddyfile|Dockerfile))`:\s*$/m;

/** The file that a block is, by the last line of the text above it. */
function fileAbove(text: string): Pick<Block, 'file' | 'appended'> {
  const line =
    text
      .replace(/(?:<!--[^>]*-->\s*)+$/, '')
      .trimEnd()
      .split('\n')
      .at(-1) ?? '';
  const [, file] = named.exec(line) ?? [];
  if (file === undefined) return {};
  return { file, appended: /\bappend/i.test(line) };
}

/** The fenced blocks of a Markdown text. */
export function blocksOf(document: string, markdown: string): Block[] {
  return [...markdown.matchAll(fence)].map(match => {
    const [, directive, value = '', indent = '', language = '', code = ''] = match;
    return {
      document,
      line: markdown.slice(0, match.indices![5]![0]).split('\n').length,
      language,
      code: code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
      ...fileAbove(markdown.slice(0, match.index)),
      ...(directive === 'save as' && { saved: value.trim() }),
      ...(directive === 'around' && { around: value.trim() }),
    };
  });
}

/** The block within the code that stands around it, and the number of lines above it there. */
export function completed({ code, around = '…' }: Block): { readonly text: string; readonly above: number } {
  const at = around.indexOf('…');
  if (at === -1) throw new Error(`no … stands for the block in: ${around}`);
  const indent = /[ \t]*$/.exec(around.slice(0, at))![0];
  const isOwnLine = at - indent.length === 0 || around[at - indent.length - 1] === '\n';
  const placed = isOwnLine ? code.trimEnd().replaceAll('\n', `\n${indent}`) : code.trimEnd();
  return {
    text: `${around.slice(0, at)}${placed}${around.slice(at + 1)}\n`,
    above: around.slice(0, at).split('\n').length - 1,
  };
}
