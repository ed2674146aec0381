import { describe, expect, it } from '@jest/globals';
import { html } from '../../../../../src/dashboard/view/html.ts';

describe('html', () => {
  it('escapes what is put in, in text and in attributes', () => {
    const hostile = `<b a="1" c='2'>&`;
    expect(html`<p title="${hostile}">${hostile}</p>`.text).toBe(
      '<p title="&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;">&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;</p>',
    );
  });

  it('leaves what is a template already, also in lists', () => {
    expect(html`<ul>${['<', '>'].map(item => html`<li>${item}</li>`)}</ul>`.text).toBe(
      '<ul><li>&lt;</li><li>&gt;</li></ul>',
    );
  });

  it('shows numbers, also 0, and nothing for what is not there', () => {
    expect(html`${0}|${false}|${null}|${undefined}|${[]}|${''}|`.text).toBe('0||||||');
  });

  it('takes no object for a template that only looks like one', () => {
    expect(() => html`${[{ text: '<b>' } as never]}`).toThrow(TypeError);
  });
});
