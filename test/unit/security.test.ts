import { describe, expect, it } from '@jest/globals';
import { read } from '../support/documents/blocks.ts';

/** The beginning of each promise, and below it the titles of the tests that fail when it is broken: one or more in each file that it names. */
const shownBy = `
Keys are kept
  has the account and the use of its key, and neither keys nor passwords
  and shows it once for each time it was sent
A key is found by its digest
  are found by the key %s
A request without a valid key
  is refused before its body has arrived
  in chunks is refused without a key before it arrives
An unknown, a revoked
  are refused like unknown keys when they expire
  gets 401 and no details: %s
A revoked key ends
  work at every instance at once and stop within the bound after they are revoked
What is missing from the list
  hold by %s for chats, for the catalog and for what is passed on unread
The Admin API is off
  is not there unless it is enabled
  refuses everybody without a right key in one form, whatever is asked for
  admit to %s whom they are for
A configuration that serves everyone
  rejects the configuration unless server.open is set: %s
  rejects open beside the stage auth
The client's key never goes
  carries the provider's key, its own path and no header of the client's
  has the key of the provider and nothing that identifies the client
Keys, passwords, prompts
  a line of the log has neither key nor prompt nor answer
  an error for the log has no quotation in message, stack and causes
They are in no metric
  has no label value from a client and no key
They are on no span
  propagates to the upstream and contains no prompt or answer
  captures nothing unless it is enabled and the span is recorded
Prompts and answers are not on the disk
  has the account and the use of its key, and neither keys nor passwords nor prompts nor answers
With \`responses.store\` they
  shows nobody else what an account has stored
  stores no text that can be read
  gives back any text, and none that is bound to something else
Otherwise only \`response-cache\`
  are the account's own
What providers say of failed attempts
  records every attempt: who was asked, when, and how it ended
  shows what providers said to admins alone
A secret that is pasted
  a secret that is pasted into a search
  shows whose key it is that is pasted into a search to nobody else, and puts it into no address
An address of an OpenID provider
  beside which userinfo %s lets somebody in: %s
  have an address of mail only where it is verified, also as a claim that gives a role
Errors say nothing internal
  takes the credentials out of %j, for clients and for the log
  the key and a header of the configuration
  hides the key but shows the rest
Mistakes of a configuration
  masks a secret wherever it stands again
  is in no message when it is wrong where it was put
  is reported with its location and without its password
  prints no secret, whoever repeats it
Nothing that a client sends forges
  a line of the log is bounded and cannot control a terminal
  has %s escaped
SQLite files
  is readable for its owner only
Heads, paths and bodies
  is rejected with 4xx and its connection closed: %s
  is answered in the OpenAI error format and its connection closed: %s
JSON is bounded
  is rejected above the limit with the accepted number, as text and parsed
  is answered within CPU and memory limits and delays none of them
What request bodies take
  outlives $name, and serves others meanwhile
  are held until their exchange ends, and a single one that is too large gets 413
A compressed body
  is answered within CPU and memory limits and delays none of them
  rejects a %s body that decompresses to more than 1 MiB plus 100 times its size
An upload has
  ends at the total deadline and releases its connection, its permit and its bytes
Limits on requests
  are limited to four that are read, and 96 get 429 at once
  refuses with 429 before 413 and 400, with Retry-After and the rate headers
A hostile request
  is answered within CPU and memory limits and delays none of them
  the cost of writing a stream is linear in its length
A client that does not read
  has received all of a stream that is recorded as completed, and only part of any other
Replies of providers
  survives replies of 150,000 tool calls with a heap of 512 MB, and serves others beside them
  events of more than a reply may have
  an upstream that stays silent
  two objects in two lines
Patterns of \`redact\`
  for replacing in %s
  holds back no more than the window, and nothing that cannot become a match
It asks only
  reaches the provider as expected or gets 404 or 400: %s
  carries the provider's key, its own path and no header of the client's
Redirects are not followed
  a fault of the only provider
  becomes the error envelope when its status is %i
  stops sending requests to a server that is unhealthy and %s until it recovers
Image addresses
  is forwarded as it was checked: %s
  is refused in the upstream's own network, as %s
A provider whose certificate
  sends nothing to a provider whose certificate is not trusted
  shows that a certificate has expired after a failed request to %s
A request that a protecting stage
  refuses a request in another format, with %s
  refuses every POST wherever it is mounted
\`otherPaths: 'pass'\`
  opens other paths with otherPaths: 'pass', and says at creation which stages are passed by
\`HOST\` of the environment
  refuse a HOST that would serve every network without a key
A certificate that does not fit
  keeps it when a later pair is broken
Unfinished TLS handshakes
  ends handshakes that are not finished in ten seconds
  while a thousand handshakes are not finished
With \`client_ca_file\`
  serves only clients with a certificate
What \`\${file:PATH}\` has read
  is in no message when it is wrong where it was put: %s
A secret's file
  that is a pipe without a writer is refused at once
  may have 64 KiB, and no byte more
The admin listener answers only
  answers only for its own host names, so that no page of another site can read it
Nothing of it is on
  is not served at the public address
Pages run no inline
  has the security headers: %s
  cannot make a browser submit a form of the dashboard
A form needs
  changes nothing without its token, with a wrong one, or with one of another browser
  changes nothing when it is one %s
Cookies are
  sets cookies that are HttpOnly and SameSite=Strict
Sessions are kept
  expire when unused, and at the latest after their full lifetime
  survives a restart of the gateway, until the password is changed, with the role of the new one
A session that someone
  is not the one that a sign-in starts, whether it exists or not
Passwords are scrypt
  matches its password only, and differs each time
Guessing is slowed down
  blocks a name at one address for half a minute
  tried from the address of an operator does not lock out a browser that has signed in before
Each role sees
  are open to the role %s as expected
  changes nothing with any form, and everybody else does
A customer sees nothing
  sees nothing of another account on any page, whatever ids the address has
  changes nothing of another account with any form
The header of an authenticating
  is ignored on other connections
A sign-in by OpenID
  is refused in a browser that has not begun the sign-in
  is refused if it fails, is from another provider, or has another state
Text of clients and operators
  shows text from operators and clients escaped, wherever it is shown
  escapes names, models and ids
Every change
  audits who changed what, without storing any key
  is filtered by person, kind of change, target and days
  has who signed in, out and was refused, with the address
Every package comes
  come from the public registry, with their digests
No package that users
  that users install run no script, and are few
Licences are
  have permissive licences
Tracing, OpenID
  install little for users, and neither a database client nor a tracing SDK
`
  .trim()
  .split(/\n(?=\S)/)
  .map(lines => lines.split(/\n +/) as [promise: string, ...titles: string[]]);

const [, section = ''] = read('docs/explanation/security.md').split('\n## What is promised\n');
const rows = section
  .split('\n## ')[0]!
  .split('\n')
  .filter(line => line.startsWith('| ') && !line.startsWith('| promise |'));

/** The titles of a test file: texts in the place of the first argument of `it` and `describe`, those of tables and of rows of a matrix too. */
function titlesOf(file: string): readonly string[] {
  const called =
    /(?:^|\s|\))(?:it|describe|matrix)?(?:\.each[^\n]*)?\(\s*(?:'((?:[^'\\]|\\.)+)'|"((?:[^"\\]|\\.)+)")/g;
  const row = /(?:when: '([^']+)'|^ +'([^']+)':)/gm;
  const text = read(file);
  return [...text.matchAll(called), ...text.matchAll(row)].map(([, one, other]) => (one ?? other)!);
}

describe('the promises about security', () => {
  it.each(rows.map(row => [row.split(' | ')[0]!.slice(2), row]))('are tested: %s', (promise, row) => {
    const entries = shownBy.filter(([beginning]) => promise.startsWith(beginning));
    expect(entries).toHaveLength(1);
    const [, ...titles] = entries[0]!;
    const files = [...row.matchAll(/`(test\/[^`]+\.test\.ts)`/g)].map(([, file]) => titlesOf(file!));
    const shows = (file: readonly string[], title: string) => file.some(one => one.includes(title));
    expect(titles.filter(title => !files.some(file => shows(file, title)))).toEqual([]);
    // Each file shows a part of the promise, or it would not be named.
    expect(files.map(file => titles.some(title => shows(file, title)))).toEqual(files.map(() => true));
    expect(files.length).toBeGreaterThan(0);
  });

  it('are each still in the document', () => {
    const promises = rows.map(row => row.slice(2));
    expect(shownBy.filter(([beginning]) => !promises.some(row => row.startsWith(beginning)))).toEqual([]);
  });
});
