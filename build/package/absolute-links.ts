import { dirname, join, normalize } from 'node:path';

/** What is in a package, and where the rest of its repository is. */
export interface Shipped {
  /** Paths of the files, from the root of the package. */
  readonly files: readonly string[];
  /** The repository's address on the web. */
  readonly repository: string;
  /** The tag or commit that the package is made of. */
  readonly ref: string;
}

/** Code of Markdown, in which nothing is a link; or the parts of a link or of an attribute with one. */
const codeOrLink =
  /^([ \t]*)```[\s\S]*?^\1```[ \t]*$|(`+)(?!`).*?[^`]\2(?!`)|(?<before>\]\(|\b(?:href|src|srcset)=")(?<target>[^()\s"]+)(?=[)"])/gm;

const picture = /\.(?:png|svg)$/;

/** The Markdown of a shipped page, in which links to files that are not shipped lead to the repository. */
export function withAbsoluteLinks(page: string, markdown: string, shipped: Shipped): string {
  return markdown.replace(codeOrLink, (whole, ...rest) => {
    const { before, target } = rest.at(-1) as { before?: string; target?: string };
    return target === undefined ? whole : before + addressOf(target, page, shipped);
  });
}

function addressOf(target: string, page: string, { files, repository, ref }: Shipped): string {
  const [path = '', anchor] = target.split('#');
  if (path === '' || /^[a-z]+:/.test(path)) return target;
  const file = normalize(join(dirname(page), path)).replace(/\/$/, '');
  if (files.some(name => name === file || name.startsWith(`${file}/`))) return target;
  const kind = picture.test(file) ? 'raw' : 'blob';
  return `${repository}/${kind}/${ref}/${file}${anchor === undefined ? '' : `#${anchor}`}`;
}
