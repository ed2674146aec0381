import { chatModelsInScope } from '../models-in-scope.ts';
import type { Page } from '../page-request.ts';
import { noModels } from '../pages/models.ts';
import { publicUrlOf } from '../pages/playground.ts';
import { type Html, html } from '../view/html.ts';
import { pageResponse, panel } from '../view/shell.ts';

/** How to send a first request, in three languages. */
export const examplesPage: Page = {
  name: 'examples',
  get: async request => {
    const { context, incoming, query } = request;
    const models = await chatModelsInScope(request);
    const chosen = models.find(({ id }) => id === query.get('model')) ?? models[0];
    const url = `${publicUrlOf(context, incoming) || `https://${incoming.headers.host}`}/v1`;
    return pageResponse(request, {
      title: 'Examples',
      section: 'examples',
      scripts: ['copy.js'],
      body: chosen
        ? html`<form method="get" action="examples" class="row panel" role="search" aria-label="Choose a model">
<label>Model <select name="model">${models.map(({ id }) => html`<option value="${id}" ${id === chosen.id && html`selected`}>${id}</option>\n`)}</select></label>
<button>Show</button>
</form>
${panel(
  'begin',
  'Before you begin',
  html`<p><a href="keys">Issue a key</a> and put it into the environment of your program:</p>${code('key', 'The key in the environment', "export SLUICE_API_KEY='sk-…'")}`,
)}
${panel('curl', 'curl', code('curl-code', 'curl', curl(url, chosen.id)))}
${panel('python', 'Python', html`<p class="muted">With the package <code>openai</code>: <code>pip install openai</code></p>${code('python-code', 'Python', python(url, chosen.id))}`)}
${panel('javascript', 'JavaScript', html`<p class="muted">With the package <code>openai</code>: <code>npm install openai</code></p>${code('javascript-code', 'JavaScript', javascript(url, chosen.id))}`)}`
        : noModels(request.scope),
    });
  },
};

const code = (id: string, label: string, text: string): Html =>
  html`<pre id="${id}" tabindex="0" role="region" aria-label="Code: ${label}">${text}</pre>
<p class="pager"><button type="button" data-copy="${id}" aria-label="Copy ${label}">Copy</button></p>`;

const question = 'Why do rivers bend?';

/** A text for the shell, in single quotes. */
const shellQuoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

const curl = (url: string, model: string): string => {
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: question }] }, undefined, 2);
  return `curl ${shellQuoted(`${url}/chat/completions`)} \\
  -H "Authorization: Bearer $SLUICE_API_KEY" \\
  -H 'Content-Type: application/json' \\
  -d ${shellQuoted(body)}`;
};

const python = (url: string, model: string): string => `import os
from openai import OpenAI

client = OpenAI(
    base_url=${JSON.stringify(url)},
    api_key=os.environ["SLUICE_API_KEY"],
)
reply = client.chat.completions.create(
    model=${JSON.stringify(model)},
    messages=[{"role": "user", "content": ${JSON.stringify(question)}}],
)
print(reply.choices[0].message.content)`;

const javascript = (url: string, model: string): string => `import OpenAI from 'openai';

const client = new OpenAI({
  baseURL: ${JSON.stringify(url)},
  apiKey: process.env.SLUICE_API_KEY,
});
const reply = await client.chat.completions.create({
  model: ${JSON.stringify(model)},
  messages: [{ role: 'user', content: ${JSON.stringify(question)} }],
});
console.log(reply.choices[0].message.content);`;
