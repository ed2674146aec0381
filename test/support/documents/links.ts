import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { anchorOf } from '../../../build/heading-anchor.ts';
import { read, root } from './blocks.ts';

/** What links of a document in `folder` lead nowhere: each as `document:line: target, why`. Addresses on the web are not asked. */
export function brokenLinks(
  document: string,
  markdown: string = read(document),
  folder: string = root,
): string[] {
  return proseOf(markdown)
    .split('\n')
    .flatMap((text, at) =>
      linksIn(text).flatMap(target => {
        const fault = faultOf(document, markdown, target, folder);
        return fault === undefined ? [] : [`${document}:${at + 1}: ${target}, ${fault}`];
      }),
    );
}

/** The text without code, which stays as empty lines. */
const proseOf = (markdown: string): string =>
  markdown
    .replace(/^([ \t]*)```[\s\S]*?^\1```[ \t]*$/gm, block => block.replace(/[^\n]/g, ''))
    .replace(/(`+)(?!`).*?[^`]\1(?!`)/g, '');

function linksIn(text: string): string[] {
  const written = [...text.matchAll(/\]\(([^()\s]+)\)/g)].map(([, target]) => target!);
  const tagged = [...text.matchAll(/\b(?:href|src|srcset)="([^"\s]+)"/g)].map(([, target]) => target!);
  return [...written, ...tagged].filter(target => !/^(?:https?|mailto):/.test(target));
}

function faultOf(document: string, markdown: string, target: string, folder: string): string | undefined {
  const [path = '', anchor] = target.split('#');
  const file = path === '' ? document : normalize(join(dirname(document), path));
  if (path !== '' && !existsSync(join(folder, file))) return 'no such file';
  if (anchor === undefined) return undefined;
  if (!file.endsWith('.md')) return 'only Markdown has anchors';
  const text = path === '' ? markdown : readFileSync(join(folder, file), 'utf8');
  return anchorsOf(text).has(anchor) ? undefined : 'no such heading';
}

/** The anchors of a document's headings, as GitHub makes them. */
export function anchorsOf(markdown: string): ReadonlySet<string> {
  const anchors = new Set<string>();
  const withoutCode = markdown.replace(/^([ \t]*)```[\s\S]*?^\1```[ \t]*$/gm, '');
  for (const [, heading = ''] of withoutCode.matchAll(/^#{1,6} (.+)$/gm)) {
    const text = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1');
    const slug = anchorOf(text);
    let anchor = slug;
    for (let again = 1; anchors.has(anchor); again++) anchor = `${slug}-${again}`;
    anchors.add(anchor);
  }
  return anchors;
}
