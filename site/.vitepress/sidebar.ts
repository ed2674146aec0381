interface Item {
  readonly text: string;
  readonly link: string;
}

/** The groups of docs/README.md: each heading with the links below it. */
export function sidebarOf(index: string): { text: string; items: Item[]; collapsed: boolean }[] {
  return index
    .split(/^## /m)
    .slice(1)
    .map(group => ({
      text: group.split('\n', 1)[0]!,
      items: [...group.matchAll(/\[([^\]]+)\]\(([\w/-]+)\.md\)/g)].map(([, text, page]) => ({
        text: text!,
        link: `/${page}`,
      })),
      collapsed: false,
    }));
}
