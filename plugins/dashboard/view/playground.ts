import type { Model } from '../../../src/plugin.ts';
import { type Html, html } from './html.ts';
import { panel } from './shell.ts';

/** Maximum size of a request with its key, encoded as a form: a prompt that fills a context window. */
export const max_form_bytes = 8 * 1024 * 1024;

/** What the playground is given by the page that shows it. */
interface PlaygroundView {
  /** At least one. */
  readonly models: readonly Model[];
  /** Id of the model that is chosen at first. */
  readonly chosen: string | null;
  /** Where the reader's API key comes from; undefined if the gateway asks for none. */
  readonly key_hint: Html | undefined;
  /** Shown above the fields, such as that there is no key yet. */
  readonly notice?: Html | false | undefined;
  /** The hidden field with the CSRF token of the form. */
  readonly tokenInput: Html;
  /** Whether the reader sees costs. */
  readonly seesMoney: boolean;
}

/** The settings and the conversation. The page that shows it also has the pages `playground-run` and `playground-record` beside it. */
export const playgroundView = (view: PlaygroundView): Html =>
  html`<noscript><p class="notice warn">This page needs its script: allow scripts of this address.</p></noscript>
<form method="post" action="playground-run" class="playground" data-options="${JSON.stringify(optionsOf(view))}">
${view.tokenInput}
${settingsPanel(view)}
${conversationPanel}
</form>`;

/** What the script has to know. */
const optionsOf = ({ seesMoney }: PlaygroundView) => ({ max_form_bytes, seesMoney });

const conversationPanel = html`<section class="panel conversation" aria-labelledby="conversation">
<div class="title"><h2 id="conversation">Conversation</h2> <button type="button" class="quiet" id="clear" disabled>Start anew</button></div>
<ol id="turns" class="turns" aria-label="Turns"></ol>
<p class="visually-hidden" id="announce" role="status"></p>
<div class="stack composer">
<label>Prompt <textarea name="prompt" class="wide" rows="3" aria-describedby="prompt-hint">Why do rivers bend?</textarea></label>
<p class="notice bad" id="refusal" role="alert" hidden></p>
<div class="row buttons"><button class="primary" id="send" disabled>Send</button> <span class="hint" id="prompt-hint">Ctrl+Enter sends, Escape stops</span></div>
</div>
</section>`;

/** Panel with the key, the model and its parameters, and the system prompt. */
const settingsPanel = ({ models, chosen, key_hint, notice }: PlaygroundView): Html =>
  panel(
    'settings',
    'Settings',
    html`<div class="stack">
${notice}
${key_hint && keyField(key_hint)}
${modelFields(models, chosen)}
<button type="button" id="compare" aria-pressed="false" disabled>Compare two models</button>
<details><summary>System prompt</summary><textarea name="system" class="wide" rows="4" aria-label="System prompt" placeholder="Instructions before the conversation"></textarea></details>
</div>`,
  );

/** Field for the API key; not of type password, which browsers offer to save. */
const keyField = (hint: Html): Html =>
  html`<div><label>API key <input name="key" class="masked wide" required maxlength="512" autocomplete="off" autocapitalize="off" spellcheck="false" aria-describedby="key-hint" placeholder="sk-…"></label>
<p class="hint" id="key-hint">Kept in this tab until you sign out or close it. ${hint}</p></div>`;

/** One model and its parameters; the script makes a second set of them to compare two. */
const modelFields = (models: readonly Model[], chosen: string | null): Html =>
  html`<fieldset class="slot"><legend>Model</legend>
<select name="model" class="wide" aria-label="Model">${models.map(
    model =>
      html`<option value="${model.id}" data-model="${JSON.stringify(factsOf(model))}" ${model.id === chosen && html`selected`}>${model.id}</option>\n`,
  )}</select>
<div class="fields">
<label class="whole">Reasoning effort <select name="reasoning_effort"></select></label>
<label>Max tokens <input name="max_tokens" type="number" min="1" step="1" placeholder="no cap"></label>
<label>Temperature <input name="temperature" type="number" min="0" max="2" step="any" placeholder="default"></label>
<label>Top P <input name="top_p" type="number" min="0" max="1" step="any" placeholder="default"></label>
<label>Seed <input name="seed" type="number" step="1" placeholder="none"></label>
<label class="whole">Stop at <input name="stop" maxlength="256" autocomplete="off" placeholder="nothing"></label>
</div>
</fieldset>`;

/** What the script has to know of a model. */
const factsOf = (model: Model) => ({
  reasoning: model.reasoning,
  levels: model.reasoning_effort.levels,
  usual: model.reasoning_effort.default,
  max_tokens: model.max_completion_tokens,
});
