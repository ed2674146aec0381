import { type Html, html } from './html.ts';
import { type PlaygroundSettings, settingsPanel } from './playground-settings.ts';

/** Maximum size of a request with its key, encoded as a form: a prompt that fills a context window. */
export const max_form_bytes = 8 * 1024 * 1024;

/** What the playground is given by the page that shows it, whoever its reader is. */
export interface PlaygroundView extends PlaygroundSettings {
  /** The hidden field with the CSRF token of the form. */
  readonly tokenInput: Html;
  /** Whether the reader sees costs. */
  readonly seesMoney: boolean;
}

/**
The playground: settings and the conversation. The page that shows it also has the pages `playground-run` and `playground-record` beside it.
 */
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
<p class="unseen" id="announce" role="status"></p>
<div class="stack composer">
<label>Prompt <textarea name="prompt" class="wide" rows="3" aria-describedby="prompt-hint">Why do rivers bend?</textarea></label>
<p class="notice bad" id="refusal" role="alert" hidden></p>
<div class="row buttons"><button class="primary" id="send" disabled>Send</button> <span class="hint" id="prompt-hint">Ctrl+Enter sends, Escape stops</span></div>
</div>
</section>`;
