import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Links of a built site to headings that do not exist; VitePress itself looks at pages only. typedoc numbers headings of one name in its own way. */
export function brokenAnchors(outDir: string): string[] {
  const pages = globSync('**/*.html', { cwd: outDir });
  const htmlOf = new Map(pages.map(page => [page, readFileSync(join(outDir, page), 'utf8')]));
  const idsOf = new Map(
    [...htmlOf].map(([page, html]) => [
      page,
      new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)),
    ]),
  );
  const written = [...htmlOf].filter(([page]) => !page.startsWith('api/'));
  return written.flatMap(([page, html]) =>
    [...html.matchAll(/<a [^>]*href="([^"#:]*)#([^"]+)"/g)].flatMap(([, path = '', id = '']) => {
      const target = path === '' ? page : new URL(path, `file:///${page}`).pathname.slice(1);
      return idsOf.get(target.replace(/(^|\/)$/, '$1index.html'))?.has(decodeURIComponent(id))
        ? []
        : [`${page}: ${path}#${id}`];
    }),
  );
}
