import type { Model } from '../../../src/plugin.ts';
import { type Html, html } from './html.ts';
import { panel } from './shell.ts';

/** What can be set for a request. */
export interface PlaygroundSettings {
  /** At least one. */
  readonly models: readonly Model[];
  /** Id of the model that is chosen at first. */
  readonly chosen: string | null;
  /** Where the reader's API key comes from; undefined if the gateway asks for none. */
  readonly key_hint: Html | undefined;
  /** Shown above the fields, such as that there is no key yet. */
  readonly notice?: Html | false | undefined;
}

/** Panel with the key, the model and its parameters, and the system prompt. */
export const settingsPanel = ({ models, chosen, key_hint, notice }: PlaygroundSettings): Html =>
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
