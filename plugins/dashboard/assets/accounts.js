/** Time without another letter after which accounts are asked for. */
const pause_ms = 200;

/** Offers accounts by a part of their id or display name, in fields that have their list. */
const list = document.getElementById('accounts');
let waiting;

document.addEventListener('input', ({ target }) => {
  clearTimeout(waiting);
  if (list && target.list === list) waiting = setTimeout(() => offer(target), pause_ms);
});

async function offer({ form, value }) {
  const body = new URLSearchParams({ form_token: form.elements.form_token.value, part: value });
  const reply = await fetch('accounts-like', { method: 'POST', body }).catch(() => undefined);
  if (!reply?.ok) return;
  const accounts = await reply.json();
  list.replaceChildren(...accounts.map(({ id, display_name }) => new Option(display_name, id)));
}
