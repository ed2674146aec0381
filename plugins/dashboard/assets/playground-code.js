/** Images that are longer than this are shortened in code that is shown. */
const max_image_characters = 200;

/** The request with the images in it shortened, as people can read it; the same object if there are none. */
export function withShortImages(request) {
  let shortened = 0;
  const text = JSON.stringify(request, (_, value) => {
    if (typeof value !== 'string' || value.length <= max_image_characters || !value.startsWith('data:image/'))
      return value;
    shortened++;
    return `${value.slice(0, value.indexOf(',') + 25)}…`;
  });
  return shortened === 0 ? request : JSON.parse(text);
}

/** The request as code in `language`, to be pasted as it is: whatever stands in it, it is text there and nothing else. */
export function codeOf(language, request, public_url) {
  return codes[language](request, `${public_url.replace(/\/+$/, '').replace(/\/v1$/, '')}/v1`);
}

/** Characters that cannot be seen, or turn around what stands beside them, are escaped: people look at code before they run it. */
const json = (value, indent) =>
  JSON.stringify(value, undefined, indent).replace(
    /[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g,
    character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

const codes = { curl, javascript, python };

function curl(request, base_url) {
  return [
    `curl -N ${quoted(`${base_url}/chat/completions`)}`,
    `-H "Authorization: Bearer $SLUICE_API_KEY"`,
    `-H 'Content-Type: application/json'`,
    `-d ${quoted(json(request, 2))}`,
  ].join(' \\\n  ');
}

/** For a shell: nothing means anything between these quotes but the quote itself. */
const quoted = text => `'${text.replaceAll("'", `'\\''`)}'`;

function javascript(request, base_url) {
  return `import OpenAI from 'openai';

const client = new OpenAI({ baseURL: ${json(base_url)}, apiKey: process.env.SLUICE_API_KEY });

const stream = await client.chat.completions.create(${object(request)});
for await (const chunk of stream) {
  const delta = chunk.choices[0]?.delta ?? {};
  process.stdout.write(delta.reasoning ?? delta.content ?? '');
}`;
}

/** As people write it: names without quotes. */
function object(request) {
  const fields = Object.entries(request).map(
    ([name, value]) => `  ${name}: ${json(value, 2).replaceAll('\n', '\n  ')},`,
  );
  return `{\n${fields.join('\n')}\n}`;
}

/** What the SDK knows by itself; it takes the rest as a body that is added. */
const known_to_python = [
  'model',
  'messages',
  'reasoning_effort',
  'temperature',
  'top_p',
  'max_tokens',
  'stop',
  'seed',
  'tools',
  'stream',
  'stream_options',
];

function python(request, base_url) {
  const all = Object.entries(request);
  const known = all.filter(([name]) => known_to_python.includes(name));
  const more = Object.fromEntries(all.filter(([name]) => !known_to_python.includes(name)));
  const fields = Object.keys(more).length === 0 ? known : [...known, ['extra_body', more]];
  return `import os
from openai import OpenAI

client = OpenAI(base_url=${json(base_url)}, api_key=os.environ["SLUICE_API_KEY"])

stream = client.chat.completions.create(
${fields.map(([name, value]) => `    ${name}=${literal(value)},`).join('\n')}
)
for chunk in stream:
    delta = chunk.choices[0].delta if chunk.choices else None
    print(getattr(delta, "reasoning", None) or getattr(delta, "content", None) or "", end="", flush=True)`;
}

/** A value of JSON in Python, whose strings and numbers are written alike. */
function literal(value, indent = '    ') {
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value !== 'object' || value === null) return value === null ? 'None' : json(value);
  const inner = `${indent}    `;
  const parts = Array.isArray(value)
    ? value.map(one => literal(one, inner))
    : Object.entries(value).map(([name, one]) => `${json(name)}: ${literal(one, inner)}`);
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  return `${open}\n${parts.map(part => `${inner}${part},\n`).join('')}${indent}${close}`;
}
