import { KeyExists, type KeyRecord, type Operator } from '../../../src/plugin.ts';
import { newNonce, nonce_field } from '../access/issued-keys.ts';
import { changed, operatorOf, type PageRequest } from '../page-request.ts';
import { PageError, type PageResponse } from '../page-response.ts';
import { linkOf } from '../view/format.ts';
import { type Html, html, type Part } from '../view/html.ts';

/** The hidden field by which a form that issues a key is told from the same form sent twice. */
export const nonceInput = (): Html => html`<input type="hidden" name="${nonce_field}" value="${newNonce()}">`;

interface NewKey {
  readonly key: string;
  readonly record: Pick<KeyRecord, 'id'>;
}

interface ShownAt {
  /** The page that shows it once, and without `show` not again. */
  readonly shownAt?: (id: string, show: string) => string;
  readonly notice?: string | undefined;
}

const keyAt = (id: string, show: string) => linkOf('key', { id, show });

/**
 * Issues the key of a form once, however often and to whatever instance the form is sent, and leads to the page that shows it, with `notice`: that of
 * the key, unless `shownAt` names another. Returns undefined if the form has issued a key with other content before.
 */
export async function issueOnce(
  request: PageRequest,
  issue: (operator: Operator, nonce: string) => Promise<NewKey>,
  { shownAt = keyAt, notice }: ShownAt = {},
): Promise<PageResponse | undefined> {
  const { cookies, form, path, query, session } = request;
  const nonce = form.get(nonce_field) ?? '';
  if (!/^[\w-]{22}$/.test(nonce))
    throw new PageError(
      400,
      'This form is incomplete.',
      'Go back, load the page again, and send it once more.',
    );
  const submitted = session.issued.submit(nonce, `${path}?${query} ${form}`, async () => {
    const { key, record } = await issue(operatorOf(request), nonce);
    return { id: record.id, key };
  });
  const issued = await submitted.catch(issuedElsewhere);
  if (issued === 'changed') return undefined;
  if (issued.key === undefined) return changed(request, shownAt(issued.id, 'elsewhere'), notice);
  const { id, key } = issued;
  const show = newNonce();
  cookies.put(`${key_cookie}${show}`, key);
  return changed(request, shownAt(id, show), notice);
}

/** Another instance has issued the key of the form, and shows it. */
function issuedElsewhere(thrown: unknown): { readonly id: string; readonly key?: undefined } {
  if (thrown instanceof KeyExists) return { id: thrown.id };
  throw thrown;
}

/** Begins the name of the cookie that takes the text of a key to the page which shows it. */
const key_cookie = 'sluice_key_';

/** The text of the key that was issued for this page, once. */
export function takeKey({ cookies, incoming, query }: PageRequest): string | undefined {
  // HEAD shows nothing, so that it must not use up the one time.
  if (incoming.method !== 'GET') return undefined;
  return cookies.take(`${key_cookie}${query.get('show') ?? ''}`);
}

/** What is shown once, with a button that copies it. */
export const secretPart = (secret: string, what: 'key' | 'link', more: Part = ''): Html =>
  html`<p><code class="secret" id="secret">${secret}</code></p>
<p class="row"><button class="primary" data-copy="secret">Copy ${what}</button> ${more}</p>`;
