import { type Html, html } from './html.ts';
import { type PlaygroundSettings, settingsPanel } from './playground-settings.ts';

/** Maximum size of a request with its key, encoded as a form: a prompt that fills a context window, or two large images. */
export const max_form_bytes = 8 * 1024 * 1024;
/** Maximum size of a picked image. */
const max_image_bytes = 3 * 1024 * 1024;

/** The files among the assets that the playground needs. */
export const playgroundScripts = ['copy.js', 'playground.js'];

/** What the playground is given by the page that shows it, whoever its reader is. */
export interface PlaygroundView extends PlaygroundSettings {
  /** The hidden field with the CSRF token of the form. */
  readonly tokenInput: Html;
  /** URL of the gateway for clients; empty if it is unknown. */
  readonly public_url: string;
  /** Whether the reader sees costs. */
  readonly seesMoney: boolean;
  /** Address of the page of one request, to which its id is appended; undefined if the reader has no such page. */
  readonly request_page: string | undefined;
}

/**
 * The playground: settings, the conversation, and the same request as code. The page that shows it also has the pages `playground-run` and
 * `playground-record` beside it, and `playgroundScripts` in its head.
 */
export const playgroundView = (view: PlaygroundView): Html =>
  html`<noscript><p class="notice warn">This page needs its script: allow scripts of this address.</p></noscript>
<form method="post" action="playground-run" class="playground" data-options="${JSON.stringify(optionsOf(view))}">
${view.tokenInput}
${settingsPanel(view)}
${conversationPanel}
</form>
${codePanel(view.public_url)}`;

/** What the script has to know. */
const optionsOf = ({ seesMoney, request_page }: PlaygroundView) => ({
  max_form_bytes,
  max_image_bytes,
  seesMoney,
  request_page,
});

const conversationPanel = html`<section class="panel conversation" aria-labelledby="conversation">
<div class="title"><h2 id="conversation">Conversation</h2> <button type="button" class="quiet" id="clear" disabled>Start anew</button></div>
<ol id="turns" class="turns" aria-label="Turns"></ol>
<p class="unseen" id="announce" role="status"></p>
<div class="stack composer">
<label>Prompt <textarea name="prompt" class="wide" rows="3" aria-describedby="prompt-hint">Why do rivers bend?</textarea></label>
<div id="images" hidden>
<ul class="images" aria-label="Images of the prompt"></ul>
<div class="row">
<label>Image from a file <input type="file" id="image-file" accept="image/png,image/jpeg,image/gif,image/webp" multiple></label>
<label>Image at an address <input type="url" id="image-url" size="24" maxlength="8192" placeholder="https://…"></label>
<button type="button" id="add-image">Add</button>
</div>
</div>
<p class="notice bad" id="refusal" role="alert" hidden></p>
<div class="row buttons"><button class="primary" id="send" disabled>Send</button> <span class="hint" id="prompt-hint">Ctrl+Enter sends, Escape stops</span></div>
</div>
</section>`;

/** The request as code; the script keeps it in step with the form. */
function codePanel(public_url: string): Html {
  const language = (name: string, label: string, isShown = false) =>
    html`<button type="button" data-language="${name}" aria-pressed="${String(isShown)}">${label}</button>\n`;
  return html`<section class="panel" aria-labelledby="code-title"><h2 id="code-title">The same request as code</h2>
<div class="row"><div class="row" role="group" aria-label="Language">${language('curl', 'curl', true)}${language('javascript', 'openai for JavaScript')}${language('python', 'openai for Python')}</div>
<label>Address of the gateway <input name="public_url" id="public-url" type="url" value="${public_url}" size="32"></label>
<button type="button" data-copy="code" hidden>Copy</button></div>
<pre tabindex="0" role="region" aria-label="Code" id="code"></pre>
<p class="hint">The key is read from the environment: <code>export SLUICE_API_KEY=…</code><span id="code-note"></span></p>
</section>`;
}
