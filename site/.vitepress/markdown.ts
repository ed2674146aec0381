import { dirname, join, relative } from 'node:path';
import type { MarkdownRenderer } from 'vitepress';

interface Place {
  /** Of the repository, with a slash at its end. */
  readonly root: string;
  /** The repository's address. */
  readonly github: string;
}

/** Makes pages that are written for GitHub ones of the site: its links and pictures, and braces, which Vue would read as expressions. */
export function inSite(md: MarkdownRenderer, place: Place): void {
  const { rules } = md.renderer;
  for (const name of ['text', 'code_inline'] as const) {
    const render = rules[name]!;
    rules[name] = (...args) => String(render(...args)).replaceAll('{{', '&#123;&#123;');
  }
  md.core.ruler.push('pages-of-site', ({ tokens, env }) => {
    for (const token of tokens.flatMap(token => [token, ...(token.children ?? [])])) {
      if (token.type.startsWith('html_')) token.content = ofTheme(token.content);
      if (token.type !== 'link_open') continue;
      token.attrSet('href', addressOf(token.attrGet('href') ?? '', env.realPath ?? env.path, place));
    }
  });
}

/** Where a link of a page leads: out of docs/ to the repository. */
function addressOf(href: string, page: string, { root, github }: Place): string {
  if (/^(?:[a-z]+:|#|\/)/.test(href)) return href;
  const [path = '', anchor] = href.split('#');
  const file = relative(root, join(dirname(page), path));
  const target = file.startsWith('docs/')
    ? path.replace(/(^|\/)README\.md$/, '$1index.md')
    : `${github}/blob/main/${file}`;
  return anchor === undefined ? target : `${target}#${anchor}`;
}

/** Pictures of a page: relative ones begin with a dot, as Vite has them, and one for light and dark is two, since readers choose the theme of the site. */
const ofTheme = (html: string): string =>
  html
    .replaceAll(/(src|srcset)="(?=\w[^:"]*")/g, '$1="./')
    .replaceAll(/<\/?picture>/g, '')
    .replaceAll(
      /<source media="\(prefers-color-scheme: dark\)" srcset=/g,
      '<img class="in-dark" loading="lazy" alt="" src=',
    )
    .replaceAll(/<img src=("[^"]*-light\.\w+")/g, '<img class="in-light" loading="lazy" src=$1');
