import type { Model } from '../../catalog/catalog.ts';
import type { PageRequest } from '../page-request.ts';
import { type Html, html, type Part } from './html.ts';
import { postForm } from './shell.ts';

const first_prompt = 'Why do rivers bend?';

/** The prompt form. It is sent by the script, and cannot be sent without it. */
export function askPanel(request: PageRequest, hasKeys: boolean): Html {
  const { catalog, settings } = request.context;
  const asked = request.query.get('model');
  const needsKey = settings.stages.some(({ name }) => name === 'auth');
  return html`<section class="panel" aria-labelledby="ask"><h2 id="ask">Ask</h2>
${needsKey && !hasKeys && html`<p class="notice warn">No key has been issued yet: <a href="accounts">create an account</a> and issue one.</p>`}
${postForm(
  request,
  'playground-run',
  html`<label>Model <select name="model" class="wide">${catalog.models.map(
    model =>
      html`<option value="${model.id}" data-model="${JSON.stringify(factsOf(model))}" ${model.id === asked && html`selected`}>${model.id}</option>\n`,
  )}</select></label>
${needsKey && keyField()}
<label>Prompt <textarea name="prompt" class="wide" rows="5" required>${first_prompt}</textarea></label>
<div class="row">
<label>Reasoning effort <select name="reasoning_effort"></select></label>
<label>Temperature <input name="temperature" type="number" min="0" max="2" step="any" placeholder="default"></label>
<label>Max tokens <input name="max_tokens" type="number" min="1" step="1" placeholder="no cap"></label>
</div>
<details><summary>System message</summary><textarea name="system" class="wide" rows="3" aria-label="System message" placeholder="Instructions before the prompt"></textarea></details>
<div class="row buttons"><button class="primary" id="send" disabled>Send</button> <button type="button" id="cancel" disabled>Cancel</button>
<span class="hint">Ctrl+Enter sends, Escape cancels</span></div>`,
  'stack ask',
)}
</section>`;
}

/** Field for the API key; not of type password, which browsers offer to save. */
const keyField = (): Html =>
  html`<div><label>API key <input name="key" class="masked wide" required maxlength="512" autocomplete="off" autocapitalize="off" spellcheck="false" aria-describedby="key-hint" placeholder="sk-…"></label>
<p class="hint" id="key-hint">Sent with this request only, and kept nowhere. None at hand? Issue one under <a href="accounts">Accounts</a>.</p></div>`;

/** Facts about a model for the script. */
const factsOf = ({
  reasoning,
  reasoning_effort: { levels, default: usual },
  max_completion_tokens,
}: Model) => ({
  reasoning,
  levels,
  usual,
  max_tokens: max_completion_tokens,
});

/** Panel in which the script shows the answer: reasoning apart, text, and usage so far. */
export function answerPanel(): Html {
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

const figure = (title: string, name: string, unit: Part): Html =>
  html`<div class="figure"><dt>${title}</dt><dd><strong data-used="${name}">–</strong> <span class="muted">${unit}</span></dd></div>`;

/** The same request as code; the script keeps it in step with the form. */
export function codePanel(public_url: string): Html {
  return html`<section class="panel" aria-labelledby="code-title"><h2 id="code-title">The same request as code</h2>
<div class="row"><div class="row" role="group" aria-label="Language">${[
    ['curl', 'curl'],
    ['javascript', 'openai for JavaScript'],
    ['python', 'openai for Python'],
  ].map(
    ([name, label], at) =>
      html`<button type="button" data-language="${name}" aria-pressed="${at === 0 ? 'true' : 'false'}">${label}</button>\n`,
  )}</div>
<label>Address of the gateway <input name="public_url" id="public-url" type="url" value="${public_url}" size="32"></label>
<button type="button" data-copy="code" hidden>Copy</button></div>
<pre tabindex="0" role="region" aria-label="Code" id="code"></pre>
<p class="hint">The key is read from the environment: <code>export SLUICE_API_KEY=…</code></p>
</section>`;
}
