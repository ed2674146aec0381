import { describe, expect, it } from '@jest/globals';
import { read } from '../support/documents/blocks.ts';

/** The beginning of each promise; below it test files, and below each the titles of its tests that fail when the promise is broken. */
const shownBy = `
Keys are kept
  e2e/what-is-stored
    has the account and the use of its key, and neither keys nor passwords
  e2e/dashboard-accounts
    and shows it once for each time it was sent
A key is found by its digest
  unit/src/records/configured-accounts
    are found by the key %s
A request without a valid key
  e2e/request-auth
    is refused before its body has arrived
  e2e/request-order
    in chunks is refused without a key before it arrives
An unknown, a revoked
  e2e/stored-keys
    are refused like unknown keys when they expire
  e2e/request-auth
    gets 401 and no details: %s
A revoked key ends
  e2e/stored-keys
    work at every instance at once and stop within the bound after they are revoked
What is missing from the list
  e2e/model-access
    hold by %s for chats, for the catalog and for what is passed on unread
The Admin API is off
  e2e/admin-api
    is not there unless it is enabled
    refuses everybody without a right key in one form, whatever is asked for
  unit/plugins/admin-api/routes
    admit to %s whom they are for
A configuration that serves everyone
  unit/src/config/access
    rejects the configuration unless server.open is set: %s
  unit/src/mount/chain/chain-mistakes
    rejects open beside the stage auth
The client's key never goes
  e2e/request-body
    carries the provider's key, its own path and no header of the client's
  e2e/passthrough
    has the key of the provider and nothing that identifies the client
Keys, passwords, prompts
  e2e/log-content
    a line of the log has neither key nor prompt nor answer
  unit/src/gateway/exchange/prompt-filter
    an error for the log has no quotation in message, stack and causes
They are in no metric
  e2e/sidecar-admin
    has no label value from a client and no key
They are on no span
  e2e/spans
    propagates to the upstream and contains no prompt or answer
  unit/src/gateway/upstream/attempt/content-capture
    captures nothing unless it is enabled and the span is recorded
Prompts and answers are not on the disk
  e2e/what-is-stored
    has the account and the use of its key, and neither keys nor passwords nor prompts nor answers
With \`responses.store\` they
  e2e/stored-responses
    shows nobody else what an account has stored
    stores no text that can be read
  unit/plugins/dialects/responses/store/content-cipher
    gives back any text, and none that is bound to something else
Otherwise only \`response-cache\`
  e2e/response-cache
    are the account's own
What providers say of failed attempts
  e2e/ledger-rows
    records every attempt: who was asked, when, and how it ended
  e2e/dashboard-pages
    shows what providers said to admins alone
A secret that is pasted
  e2e/dashboard-accounts
    a secret that is pasted into a search
  e2e/portal
    shows whose key it is that is pasted into a search to nobody else, and puts it into no address
An address of an OpenID provider
  e2e/dashboard-access
    beside which userinfo %s lets somebody in: %s
  unit/plugins/dashboard/access/claims
    have an address of mail only where it is verified, also as a claim that gives a role
Errors say nothing internal
  unit/src/gateway/upstream/http/scrub
    takes the credentials out of %j, for clients and for the log
  e2e/matrix-reply-forms
    the key and a header of the configuration
  e2e/provider-errors
    hides the key but shows the rest
Mistakes of a configuration
  unit/src/config/effective-config
    masks a secret wherever it stands again
  unit/src/config/secret-files
    is in no message when it is wrong where it was put
  e2e/records-mistakes
    is reported with its location and without its password
  e2e/doctor
    prints no secret, whoever repeats it
Nothing that a client sends forges
  e2e/log-content
    a line of the log is bounded and cannot control a terminal
  unit/src/telemetry/bounded-fields
    has %s escaped
SQLite files
  e2e/what-is-stored
    is readable for its owner only
Heads, paths and bodies
  e2e/bad-input-connection
    is rejected with 4xx and its connection closed: %s
  e2e/bad-input-edges
    is answered in the OpenAI error format and its connection closed: %s
JSON is bounded
  unit/src/gateway/inbound/json-bounds
    is rejected above the limit with the accepted number, as text and parsed
  e2e/hostile-bodies
    is answered within CPU and memory limits and delays none of them
What request bodies take
  e2e/memory-bounded
    outlives $name, and serves others meanwhile
  e2e/uploads-bounded
    are held until their exchange ends, and a single one that is too large gets 413
A compressed body
  e2e/hostile-bodies
    is answered within CPU and memory limits and delays none of them
  e2e/bad-input-body
    rejects a %s body that decompresses to more than 1 MiB plus 100 times its size
An upload has
  e2e/uploads-bounded
    ends at the total deadline and releases its connection, its permit and its bytes
Limits on requests
  e2e/rate-limit-admission
    refuses with 429 before 413 and 400, with Retry-After and the rate headers
  e2e/uploads-bounded
    are limited to four that are read, and 96 get 429 at once
A hostile request
  e2e/hostile-bodies
    is answered within CPU and memory limits and delays none of them
  unit/stream-costs
    the cost of writing a stream is linear in its length
A client that does not read
  e2e/stalled-readers
    has received all of a stream that is recorded as completed, and only part of any other
Replies of providers
  e2e/reply-bounds
    survives replies of 150,000 tool calls with a heap of 512 MB, and serves others beside them
  e2e/matrix-faults
    events of more than a reply may have
    an upstream that stays silent
  e2e/matrix-reply-forms
    two objects in two lines
Patterns of \`redact\`
  unit/stream-costs
    for replacing in %s
  unit/plugins/stages/redact/text/map-text
    holds back no more than the window, and nothing that cannot become a match
It asks only
  e2e/passthrough-paths
    reaches the provider as expected or gets 404 or 400: %s
  e2e/request-body
    carries the provider's key, its own path and no header of the client's
Redirects are not followed
  e2e/matrix-faults
    a fault of the only provider
  e2e/passthrough
    becomes the error envelope when its status is %i
  e2e/provider-health
    stops sending requests to a server that is unhealthy and %s until it recovers
Image addresses
  unit/src/gateway/dialects/request-schema/image
    is forwarded as it was checked: %s
    is refused in the upstream's own network, as %s
A provider whose certificate
  e2e/provider-certificate
    sends nothing to a provider whose certificate is not trusted
    shows that a certificate has expired after a failed request to %s
A request that a protecting stage
  e2e/chain-paths
    refuses a request in another format, with %s
    refuses every POST wherever it is mounted
\`otherPaths: 'pass'\`
  e2e/chain-paths
    opens other paths with otherPaths: 'pass', and says at creation which stages are passed by
\`HOST\` of the environment
  unit/src/cli/listen-addresses
    refuse a HOST that would serve every network without a key
A certificate that does not fit
  e2e/listener-tls
    keeps it when a later pair is broken
Unfinished TLS handshakes
  e2e/listener-tls
    ends handshakes that are not finished in ten seconds
    while a thousand handshakes are not finished
With \`client_ca_file\`
  e2e/listener-tls
    serves only clients with a certificate
What \`\${file:PATH}\` has read
  unit/src/config/secret-files
    is in no message when it is wrong where it was put: %s
A secret's file
  unit/src/common/small-file
    that is a pipe without a writer is refused at once
  unit/src/config/environment
    may have 64 KiB, and no byte more
The admin listener answers only
  e2e/sidecar-admin
    answers only for its own host names, so that no page of another site can read it
Nothing of it is on
  e2e/sidecar-admin
    is not served at the public address
Pages run no inline
  e2e/dashboard-access
    has the security headers: %s
  e2e/dashboard-browser
    cannot make a browser submit a form of the dashboard
A form needs
  e2e/dashboard-access
    changes nothing without its token, with a wrong one, or with one of another browser
    changes nothing when it is one %s
Cookies are
  e2e/dashboard-access
    sets cookies that are HttpOnly and SameSite=Strict
Sessions are kept
  unit/plugins/dashboard/access/sessions
    expire when unused, and at the latest after their full lifetime
  e2e/dashboard-access
    survives a restart of the gateway, until the password is changed, with the role of the new one
A session that someone
  e2e/dashboard-access
    is not the one that a sign-in starts, whether it exists or not
Passwords are scrypt
  unit/src/common/password
    matches its password only, and differs each time
Guessing is slowed down
  unit/src/records/login-throttle
    blocks a name at one address for half a minute
  e2e/dashboard-access
    tried from the address of an operator does not lock out a browser that has signed in before
Each role sees
  e2e/dashboard-pages
    are open to the role %s as expected
    changes nothing with any form, and everybody else does
A customer sees nothing
  e2e/portal
    sees nothing of another account on any page, whatever ids the address has
    changes nothing of another account with any form
The header of an authenticating
  e2e/dashboard-access
    is ignored on other connections
A sign-in by OpenID
  e2e/dashboard-access
    is refused in a browser that has not begun the sign-in
    is refused if it fails, is from another provider, or has another state
Text of clients and operators
  e2e/dashboard-access
    shows text from operators and clients escaped, wherever it is shown
  e2e/portal
    escapes names, models and ids
Every change
  contract/records-store
    audits who changed what, without storing any key
  e2e/dashboard-accounts
    is filtered by person, kind of change, target and days
  e2e/dashboard-pages
    has who signed in, out and was refused, with the address
Every package comes
  unit/packages
    come from the public registry, with their digests
No package that users
  unit/packages
    that users install run no script, and are few
Licences are
  unit/packages
    have permissive licences
Tracing, OpenID
  unit/packages
    install little for users, and neither a database client nor a tracing SDK
`
  .trim()
  .split(/\n(?=\S)/)
  .map(entry => {
    const [promise = '', ...files] = entry.split(/\n {2}(?=\S)/);
    return {
      promise,
      files: files.map(lines => lines.split(/\n {4}/) as [file: string, ...titles: string[]]),
    };
  });

const [, section = ''] = read('docs/explanation/security.md').split('\n## What is promised\n');
const promises = section
  .split('\n## ')[0]!
  .split('\n')
  .filter(line => line.startsWith('- '))
  .map(line => line.slice(2));

/** The titles of a test file: texts in the place of the first argument of `it` and `describe`, those of tables and of rows of a matrix too. */
function titlesOf(file: string): readonly string[] {
  const called =
    /(?:^|\s|\))(?:it|describe|matrix)?(?:\.each[^\n]*)?\(\s*(?:'((?:[^'\\]|\\.)+)'|"((?:[^"\\]|\\.)+)")/g;
  const row = /(?:when: '([^']+)'|^ +'([^']+)':)/gm;
  const text = read(file);
  return [...text.matchAll(called), ...text.matchAll(row)].map(([, one, other]) => (one ?? other)!);
}

describe('the promises about security', () => {
  it.each(promises)('are tested: %s', promise => {
    const entries = shownBy.filter(entry => promise.startsWith(entry.promise));
    expect(entries).toHaveLength(1);
    expect(entries[0]!.files.length).toBeGreaterThan(0);
    for (const [file, ...titles] of entries[0]!.files) {
      const found = titlesOf(`test/${file}.test.ts`);
      expect(titles.length).toBeGreaterThan(0);
      expect(titles.filter(title => !found.some(one => one.includes(title)))).toEqual([]);
    }
  });

  it('are each still in the document', () => {
    expect(shownBy.filter(entry => !promises.some(row => row.startsWith(entry.promise)))).toEqual([]);
  });
});
