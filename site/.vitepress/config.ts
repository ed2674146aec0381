import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vitepress';
import { anchorOf } from '../../build/heading-anchor.ts';
import { repository as github, manifest } from '../../build/package/pack.ts';
import { brokenAnchors } from './anchors.ts';
import { inSite } from './markdown.ts';
import { sidebarOf } from './sidebar.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const { name, description } = manifest;
const icon = readFileSync(`${root}plugins/dashboard/assets/icon.svg`, 'utf8');
/** Written from the docstrings by `npm start --prefix build/api-reference`. */
const hasApi = existsSync(`${root}docs/api/README.md`);

/** The pages stand outside of this folder, where its packages are not found. */
const packagesOfSite: Plugin = {
  name: 'packages-of-site',
  enforce: 'pre',
  resolveId(id, importer, options) {
    if (!/^vue(?:\/|$)/.test(id) || !importer?.startsWith(`${root}docs/`)) return null;
    return this.resolve(id, fileURLToPath(import.meta.url), { ...options, skipSelf: true });
  },
};

export default defineConfig({
  srcDir: '../docs',
  title: name,
  description,
  rewrites: id => id.replace(/(^|\/)README\.md$/, '$1index.md'),
  head: [
    ['link', { rel: 'icon', href: `data:image/svg+xml,${encodeURIComponent(icon)}` }],
    ['style', {}, '.dark .in-light, :root:not(.dark) .in-dark { display: none }'],
  ],
  markdown: {
    config: md => inSite(md, { root, github }),
    anchor: { slugify: anchorOf },
    languageAlias: { promql: 'text', caddyfile: 'text' },
  },
  vite: { plugins: [packagesOfSite] },
  themeConfig: {
    nav: [
      { text: 'Tutorial', link: '/tutorial' },
      ...(hasApi ? [{ text: 'API', link: '/api/' }] : []),
      { text: 'GitHub', link: github },
    ],
    sidebar: sidebarOf(readFileSync(`${root}docs/README.md`, 'utf8')),
    outline: [2, 3],
    search: { provider: 'local' },
    editLink: { pattern: `${github}/edit/main/docs/:path`, text: 'Edit this page' },
  },
  buildEnd({ outDir }) {
    const broken = brokenAnchors(outDir);
    if (broken.length > 0) throw new Error(`links to headings that do not exist:\n${broken.join('\n')}`);
  },
});
