/** The anchor of a heading as GitHub makes it: the site and the check of links use the same, so that links work in all places. */
export const anchorOf = (heading: string): string =>
  heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_\- ]/gu, '')
    .replaceAll(' ', '-');
