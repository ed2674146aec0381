/**
 * What is taken out of a provider's texts. Secrets are told by their shape and place, not by a list of known tokens: there is always one
 * more. Texts are cut before they are searched, so that the cost is bounded.
 */

/** Characters of a text that are searched, and that a client may see. */
const max_searched = 4000;
const max_shown = 2000;
const secret = '[secret]';

/** Ends of words that name a credential and little else; `secretKey`, `x-api-key` and `DB_PASSWORD` have them as well. */
const plain_names =
  '(?:authorization|(?:api|access|private|account|master|service|signing|shared|license)[-_ ]?key|secret|passw(?:or)?d|passphrase|passcode|credential)[\\w-]{0,20}|(?:pwd|pw|jwt|dsn|[-_]key)(?![\\w-])';
/** Words that have other meanings as well. */
const other_names =
  '(?:token|signature|sig|session(?:[-_]?id)?|(?<!(?:^|[.:;,]\\s|\\b(?:to|you|must|can|please|should|not|and|or|instead)\\s))pass)(?![\\w-])';
const wordEndingIn = (names: string) => `(?<![\\w-])([\\w-]{0,40}?(?:${names})`;
const named = wordEndingIn(`${plain_names}|${other_names}`);
const said = '(?:\\s{1,3}(?:provided|given|supplied|used|sent|was|is|value|header)){0,2}';
const schemes = '(?:(?:basic|bearer|digest|token|api-key|negotiate)\\s{1,3})?';

/** A credential's name, what assigns, and the value, quoted or not. */
const assigned = new RegExp(
  `${named}\\\\{0,3}["'\`]?${said}(?:\\s{0,3}(?:=>|[:=]|%3[ad])\\s{0,3}|>))(?:\\\\{0,3}"(?:[^"]*"|[^"]*$)|'(?:[^']*'|[^']*$)|${schemes}[^\\s"',;<]+)`,
  'gi',
);
/** The same without a sign between them: a quoted value, or one that is no word. */
const quoted = new RegExp(
  `${wordEndingIn(plain_names)}${said}\\s{1,3}\\\\{0,3})(["'\`])([^"'\`\\n]{1,200})\\2`,
  'gi',
);
const mentioned = new RegExp(`${named}${said}\\s{1,3}["'\`(]?)([^\\s"'\`,;)]{6,})`, 'gi');
/** `key` names what a map has as well: only a value that is no word is one. */
const of_key =
  /\b((?:key|auth)["'`]?(?:\s{0,3}[:=]\s{0,3}|\s{1,3}(?:is|was)\s{1,3}|\s{1,3})["'`[(]?)([A-Za-z0-9+/=-]{8,})(?![\w.])/gi;
const scheme = /\b(bearer|basic|api-key)(\s{1,3}|\s?[:=]\s{0,3})([^\s"',;]+)/gi;
const cookie = /((?:set-)?cookie\\?["']?\s{0,3}[:=]\s{0,3})[^\n]+/gi;
const pem = /-----BEGIN [A-Z ]{0,40}-----[^-]*(?:-----END [A-Z ]{0,40}-----)?/g;
const in_query = /([?&](?:key|code|auth|k)=)[^\s&"']+/gi;
/** Forms of keys that may be shorter than what is told by its shape: OpenAI, Hugging Face, Groq, xAI, Slack, GitHub, Google, AWS, and JWT's. */
const known =
  /\b(?:(?:sk|pk|rk|hf|gsk|xai|xox[a-z]|xapp|pplx|nvapi|gh[opsur]|github_pat|glpat|whsec)[-_](?!overrides|config)[A-Za-z0-9_-]{8,}|AIza[A-Za-z0-9_-]{35}|ya29\.[A-Za-z0-9_-]{8,}|A[KS]IA[A-Z0-9]{16}\b|xox[a-z]-[\w-]+|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+)/gi;
const long_token = /[\w\-+/=.~%*:]{20,}/g;

/** Words that stand behind the name of a credential in sentences about it. */
const no_value =
  /^(?:true|false|null|none|undefined|required|missing|invalid|incorrect|expired|empty|must|should|is|was|not|no|field|input|the|an?|and|or|for|in|please|this|your|extra|value|expected|str(?:ing)?|header|tokens?|auth\w*|scheme|realm)(?![\w-])/i;
/** Ids that the client has chosen or was given, such as those of tool calls. */
const clients_id = /^(?:call|toolu|chatcmpl|cmpl|resp|msg|rs|fc|req|item|file|batch)[-_]/;

/** Takes credentials out; addresses and paths stay. */
function withoutSecrets(text: string): string {
  return text
    .replace(pem, secret)
    .replace(cookie, `$1${secret}`)
    .replace(assigned, (whole: string, name: string) => {
      const value = whole.slice(name.length);
      return no_value.test(value) || isCount(name, value) ? whole : name + secret;
    })
    .replace(quoted, (whole: string, name: string, _, value: string) =>
      no_value.test(value) ? whole : name + secret,
    )
    .replace(mentioned, (whole: string, name: string, value: string) =>
      isOdd(value) ? name + secret : whole,
    )
    .replace(of_key, (whole: string, name: string, value: string) => (isOdd(value) ? name + secret : whole))
    .replace(scheme, (whole: string, name: string, space: string, value: string) => {
      const isSent = /^bearer$/i.test(name) && space.trim() === '';
      const isValue = isSent ? !no_value.test(value) : isOdd(value);
      return isValue && value !== secret ? name + space + secret : whole;
    })
    .replace(in_query, `$1${secret}`)
    .replace(known, secret)
    .replace(long_token, token => (isReadable(token) ? token : secret));
}

/** Whether a number is no credential: one of tokens, an index. A password may be one. */
const isCount = (name: string, value: string): boolean =>
  /^\d{1,7}\W?$/.test(value) && !/passw|pwd|\bpw\b|passphrase|passcode/i.test(name);

/** Whether a value behind a credential's name is no ordinary word: letters with digits, a prefix, capitals inside, padding. */
const isOdd = (value: string): boolean =>
  /[a-z]/i.test(value) &&
  (/\d/.test(value) || /^[a-z]{1,6}[-_].{8}/i.test(value) || /[a-z][A-Z]/.test(value) || value.endsWith('='));

/** Whether a long token is made of words and numbers, as names of models, fields and errors are. */
function isReadable(token: string): boolean {
  if (clients_id.test(token)) return true;
  let letters = 0;
  let readable = 0;
  for (const part of token.split(/[\W_]+/)) {
    const pieces = part.match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+/g) ?? [];
    const numbers = pieces.filter(piece => /^\d/.test(piece));
    if ((numbers.length > 2 && part.length >= 10) || numbers.some(number => number.length > 17)) return false;
    const own = part.replace(/\d/g, '').length;
    const isHex = part.length >= 16 && /^[\da-f]+$/i.test(part);
    // Both letters and digits: a date or a time stamp alone is none.
    if (own > 0 && own < part.length && (isHex || (part.length >= 20 && part.length - own >= 4)))
      return false;
    const ofWords = readableLetters(part, pieces);
    if (part.length >= 16 && ofWords < 0.85 * own) return false;
    letters += own;
    readable += ofWords;
  }
  return letters <= 2 || readable >= 0.6 * letters;
}

/** Letters in the words of a part, and in abbreviations such as `gpt`, `VLLM` and the first of `HTTPValidationError`. */
function readableLetters(part: string, pieces: readonly string[]): number {
  if (/^[a-z]{2,5}$/i.test(part)) return part.length;
  const abbreviation = pieces.find(piece => /^[A-Z]{2,5}$/.test(piece));
  const words = pieces.filter(piece => piece === abbreviation || isWord(piece));
  return words.join('').length;
}

/** Whether letters may be a word: vowels among the consonants, and few rare letters. */
function isWord(letters: string): boolean {
  const vowels = letters.replace(/[^aeiouy]/gi, '').length;
  if (letters.length < 3 || /\d|[^aeiouy]{5}/i.test(letters) || vowels < 0.2 * letters.length) return false;
  return letters.length < 12 || !/q(?!u)|[jqxz].*[jqxz].*[jqxz]/i.test(letters);
}

/** A name and a password in an address, before its `@`: no host and port. The password may have spaces and quotes. */
const user_password = '[^\\s/@:[]{0,100}:(?!\\d{1,5}(?:[\\s/"\',).;]|$))[^\\n@]{1,100}@';
const url = new RegExp(
  `\\b[a-z][a-z0-9+.-]{0,30}:\\/\\/(?:[^\\s"'<>]*@|${user_password})?[^\\s"'<>)]*`,
  'gi',
);
/** A name and a password before an `@`, and the host behind it. */
const login = /(?<![^\s"'<>()[\]{},;=])[^\s"'<>:@]+:[^\s"'<>]*@[^\s"'<>)\]},;]*/g;
/** The same within an address, which keeps its scheme and host. */
const userinfo = new RegExp(
  `(:\\/\\/)(?:[^\\s"'<>]*@|${user_password})|(?<![^\\s"'<>()[\\]{},;=])(?=[^\\s"'<>:@/]+:(?!\\/\\/))[^\\s"'<>]*@`,
  'g',
);
const ip =
  /\b(?:\d{1,3}\.){3}\d{1,3}\b(?::\d{1,5}\b)?|\[(?:[\da-f]*:){2,}[\da-f.]*(?:%\w+)?\](?::\d{1,5}\b)?|(?<![\w:.])(?:(?=[\da-f:]*::)[\da-f:]{3,39}|(?:[\da-f]{1,4}:){7}[\da-f]{1,4})(?![\w:])(?:%\w+)?/gi;
/** A host with its port, one of a private network, or one with a common top-level domain. */
const host =
  /\blocalhost\b(?::\d{1,5}\b)?|\b(?:[a-z0-9-]+(?:\.[a-z0-9-]+)+|[a-z][a-z0-9]*(?:-[a-z0-9]+)+|[a-z][a-z-]*\d+):\d{2,5}\b|\b[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:internal|local|localdomain|lan|intranet|corp|svc|com|net|org|io|ai|dev|app|cloud|tech|xyz|biz|eu|de|uk|fr|cn|jp|ch|us|nl|se|es|pl|ca|au|br|ru|kr|co)\b(?!\/[a-z])/gi;
/** A host of one label: told from a field and its number by what stands before or behind it. */
const after_preposition =
  /\b((?:host|to|at|from|tcp|reach|server|upstream|via) )[a-z][a-z0-9_-]*:\d{2,5}\b/gi;
const after_errno =
  /\b((?:ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH) )[^\s,;]+/g;
const before_trouble =
  /\b[a-z][\w-]*:\d{4,5}(?= (?:is |was |has )?(?:refused|down|unreachable|timed|closed|reset|not|failed|unavailable|offline))/gi;
/** Paths, but those of an API, and file names with a line. Of one name only those that every system has. */
const file =
  /(?<![\w./#\]-])~?(?:\/(?!v\d)[\w.@+%-]+)(?:\/[\w.@+%-]+)+\/?(?::\d+){0,2}|(?<![\w./#\]:-])\/(?:tmp|root|home|etc|var|opt|srv|usr|mnt|proc|dev|sys|app|workspace)(?![\w/-])|(?<![\w./#-])(?:\.{1,2}|\$\w{1,40})(?:\/[\w.@+%-]+)+(?::\d+){0,2}|(?<![\w])(?:[a-z]:[\\/]|\\\\)[^\s"'<>]+|\b[\w/-]+\.(?:pyx?|cu|cuh|cpp|rs|java|rb)\b(?::\d+)?|(?<![\w./-])(?:[\w.-]{1,60}\/){0,8}[\w-]+\.[a-z]{1,4}:\d+\b/gi;
/** A Python traceback to the end of the text; frames of others. */
const traceback = /\bTraceback \(most recent call last\)[\s\S]*/;
const frames = /\n\s{1,8}at [^\n]*/g;

/** The beginning of a text. A word that is cut in two is dropped: half a secret has no shape. */
const beginning = (text: string, max: number): string =>
  text.length > max ? text.slice(0, max).replace(/\S{1,200}$/, '') : text;

/**
 * A provider's message as a client may see it: without credentials, addresses, file names and tracebacks, at most 2,000 characters; empty if
 * nothing is left that can be read.
 */
export function scrubbed(message: string): string {
  const clean = withoutSecrets(
    beginning(message, max_searched)
      .replace(traceback, '')
      .replace(frames, '')
      .replace(url, '[address]')
      .replace(login, '[address]'),
  )
    .replace(file, '[file]')
    .replace(ip, '[address]')
    .replace(host, '[address]')
    .replace(after_preposition, '$1[address]')
    .replace(after_errno, '$1[address]')
    .replace(before_trouble, '[address]')
    .trim();
  const rest = clean.replace(new RegExp(`${named}\\W{1,8})?\\[(?:secret|address|file)\\]`, 'gi'), '');
  if (!/\p{L}{2}/u.test(rest)) return '';
  return clean.length > max_shown ? `${clean.slice(0, max_shown - 1)}…` : clean;
}

/** A provider's message for logs and operators: without credentials, at most `max_characters`. Addresses and paths stay. */
export function withoutCredentials(message: string, max_characters = 500): string {
  const clean = withoutSecrets(
    beginning(message, max_searched).replace(userinfo, (_, before = '') => `${before}${secret}@`),
  );
  return clean.length > max_characters ? `${clean.slice(0, max_characters - 1)}…` : clean;
}
