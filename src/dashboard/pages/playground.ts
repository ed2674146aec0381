import type { IncomingMessage } from 'node:http';
import type { Model } from '../../catalog/catalog.ts';
import type { DashboardContext, Page, PageRequest } from '../page-request.ts';
import { muted } from '../view/format.ts';
import { type Html, html, type Part } from '../view/html.ts';
import { pageResponse, panel, postForm } from '../view/shell.ts';
import { emptyState } from '../view/table.ts';

/** Sends a prompt to any model, as a client would. The script sends it, shows the answer, and keeps the code sample in step. */
export const playgroundPage: Page = {
  name: 'playground',
  get: async request => {
    const { context } = request;
    const isEmpty = context.catalog.models.length === 0;
    return pageResponse(request, {
      title: 'Playground',
      section: 'playground',
      scripts: isEmpty ? [] : ['copy.js', 'playground.js'],
      beside: muted("Counted, limited and billed as any client's request."),
      body: isEmpty
        ? html`<section class="panel" aria-label="Playground">${emptyState('There is no model to ask.', html`List some under <code>models</code> in the configuration.`)}</section>`
        : html`<noscript><p class="notice warn">This page needs its script: allow scripts of this address.</p></noscript>
<div class="columns">${askPanel(request, await hasKeys(context))}${answerPanel()}</div>
${codePanel(publicUrlOf(context, request.incoming))}`,
    });
  },
};

async function hasKeys({ settings, records }: DashboardContext): Promise<boolean> {
  const configured = Object.values(settings.accounts).some(({ keys }) => keys.length > 0);
  return configured || (await records.store.keys.list({ limit: 1 })).length > 0;
}

/** The prompt form. It is sent by the script, and cannot be sent without it. */
function askPanel(request: PageRequest, hasKeys: boolean): Html {
  const { catalog, settings } = request.context;
  const asked = request.query.get('model');
  const needsKey = settings.stages.some(({ authenticates }) => authenticates);
  const fields = html`<label>Model <select name="model" class="wide">${catalog.models.map(
    model =>
      html`<option value="${model.id}" data-model="${JSON.stringify(factsOf(model))}" ${model.id === asked && html`selected`}>${model.id}</option>\n`,
  )}</select></label>
${needsKey && keyField}
<label>Prompt <textarea name="prompt" class="wide" rows="5" required>Why do rivers bend?</textarea></label>
<div class="row">
<label>Reasoning effort <select name="reasoning_effort"></select></label>
<label>Temperature <input name="temperature" type="number" min="0" max="2" step="any" placeholder="default"></label>
<label>Max tokens <input name="max_tokens" type="number" min="1" step="1" placeholder="no cap"></label>
</div>
<details><summary>System message</summary><textarea name="system" class="wide" rows="3" aria-label="System message" placeholder="Instructions before the prompt"></textarea></details>
<div class="row buttons"><button class="primary" id="send" disabled>Send</button> <button type="button" id="cancel" disabled>Cancel</button>
<span class="hint">Ctrl+Enter sends, Escape cancels</span></div>`;
  return panel(
    'ask',
    'Ask',
    html`
${needsKey && !hasKeys && html`<p class="notice warn">No key has been issued yet: <a href="accounts">create an account</a> and issue one.</p>`}
${postForm(request, 'playground-run', fields, 'stack ask')}
`,
  );
}

/** Field for the API key; not of type password, which browsers offer to save. */
const keyField = html`<div><label>API key <input name="key" class="masked wide" required maxlength="512" autocomplete="off" autocapitalize="off" spellcheck="false" aria-describedby="key-hint" placeholder="sk-…"></label>
<p class="hint" id="key-hint">Sent with this request only, and kept nowhere. None at hand? Issue one under <a href="accounts">Accounts</a>.</p></div>`;

/** Facts about a model for the script. */
const factsOf = ({ reasoning, reasoning_effort, max_completion_tokens }: Model) => ({
  reasoning,
  levels: reasoning_effort.levels,
  usual: reasoning_effort.default,
  max_tokens: max_completion_tokens,
});

/** Panel in which the script shows the answer: reasoning apart, text, and usage so far. */
function answerPanel(): Html {
  const figure = (title: string, name: string, unit: Part) =>
    html`<div class="figure"><dt>${title}</dt><dd><strong data-used="${name}">–</strong> <span class="muted">${unit}</span></dd></div>`;
  return html`<section class="panel" aria-labelledby="answer" id="answer-panel"><h2 id="answer">Answer</h2>
<p id="state" class="muted" role="status">Choose a model and send a prompt: the answer is streamed here.</p>
<div id="fault" role="alert"></div>
<details id="reasoning" open hidden><summary>Reasoning</summary><div id="reasoning-text" class="said" tabindex="0" role="region" aria-label="Reasoning"></div></details>
<div id="text" class="said"></div>
<dl class="figures used">
${figure('Prompt', 'prompt', html`tokens, <span data-used="cached">–</span> cached`)}
${figure('Completion', 'completion', html`tokens, <span data-used="reasoning">–</span> reasoning`)}
${figure('Cost', 'cost', 'exactly, in USD')}
${figure('First token', 'first-token', 'after sending')}
${figure('Speed', 'speed', 'tokens per second')}
</dl>
<p class="hint"><span id="request-id"></span><br><span id="record"></span></p>
</section>`;
}

/** The same request as code; the script keeps it in step with the form. */
function codePanel(public_url: string): Html {
  const language = (name: string, label: string, isShown = false) =>
    html`<button type="button" data-language="${name}" aria-pressed="${String(isShown)}">${label}</button>\n`;
  return html`<section class="panel" aria-labelledby="code-title"><h2 id="code-title">The same request as code</h2>
<div class="row"><div class="row" role="group" aria-label="Language">${language('curl', 'curl', true)}${language('javascript', 'openai for JavaScript')}${language('python', 'openai for Python')}</div>
<label>Address of the gateway <input name="public_url" id="public-url" type="url" value="${public_url}" size="32"></label>
<button type="button" data-copy="code" hidden>Copy</button></div>
<pre tabindex="0" role="region" aria-label="Code" id="code"></pre>
<p class="hint">The key is read from the environment: <code>export SLUICE_API_KEY=…</code></p>
</section>`;
}

/** URL for clients. If the gateway listens on all addresses, the dashboard's host; if it is unknown, the script decides. */
function publicUrlOf(context: DashboardContext, { headers }: IncomingMessage): string {
  const known = context.publicUrl();
  if (known === undefined || !URL.canParse(known)) return '';
  const url = new URL(known);
  const here = `http://${headers.host}`;
  if (['0.0.0.0', '[::]'].includes(url.hostname) && URL.canParse(here)) url.hostname = new URL(here).hostname;
  return url.href.replace(/\/+$/, '');
}
