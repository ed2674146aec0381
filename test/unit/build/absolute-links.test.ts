import { describe, expect, it } from '@jest/globals';
import { withAbsoluteLinks } from '../../../build/package/absolute-links.ts';

const shipped = {
  files: ['README.md', 'docs/README.md', 'examples/mounted/server.ts'],
  repository: 'https://github.com/a/b',
  ref: 'v1.2.3',
};
const inPackage = (markdown: string, page = 'docs/README.md') => withAbsoluteLinks(page, markdown, shipped);

describe('links of a shipped page', () => {
  it.each([
    ['a file', '[x](../Dockerfile#run)', '[x](https://github.com/a/b/blob/v1.2.3/Dockerfile#run)'],
    ['a folder', '[x](../test/)', '[x](https://github.com/a/b/blob/v1.2.3/test)'],
    ['a picture', '![x](a.png)', '![x](https://github.com/a/b/raw/v1.2.3/docs/a.png)'],
    [
      'a picture for the dark',
      '<source srcset="a-dark.png"><img src="a.png">',
      '<source srcset="https://github.com/a/b/raw/v1.2.3/docs/a-dark.png"><img src="https://github.com/a/b/raw/v1.2.3/docs/a.png">',
    ],
  ])('lead to the repository for %s that is not shipped', (_, written, expected) => {
    expect(inPackage(written)).toBe(expected);
  });

  it.each([
    '[x](../README.md#y)',
    '[x](../examples/mounted)',
    '[x](#here)',
    '[x](https://example.org/a.png)',
    '[x](mailto:a@example.org)',
    '`[x](gone.md)`',
    '```md\n[x](gone.md)\n```',
  ])('stay as they are: %s', written => {
    expect(inPackage(written)).toBe(written);
  });
});
