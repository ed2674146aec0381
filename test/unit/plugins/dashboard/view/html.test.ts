import { describe, expect, it } from '@jest/globals';
import { html } from '../../../../../plugins/dashboard/view/html.ts';

describe('the html template tag', () => {
  it('escapes values in text and in attributes', () => {
    const hostile = `<b a="1" c='2'>&`;
    expect(html`<p title="${hostile}">${hostile}</p>`.text).toBe(
      '<p title="&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;">&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;</p>',
    );
  });

  it('keeps nested templates unescaped, also in lists', () => {
    expect(html`<ul>${['<', '>'].map(item => html`<li>${item}</li>`)}</ul>`.text).toBe(
      '<ul><li>&lt;</li><li>&gt;</li></ul>',
    );
  });

  it('renders numbers including 0, and nothing for absent values', () => {
    expect(html`${0}|${false}|${null}|${undefined}|${[]}|${''}|`.text).toBe('0||||||');
  });

  it('escapes an object that only looks like a template', () => {
    expect(() => html`${[{ text: '<b>' } as never]}`).toThrow(TypeError);
  });
});
