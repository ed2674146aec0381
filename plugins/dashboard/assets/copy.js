/** Buttons that copy what stands in the element which `data-copy` names, also in rows that come later. */
document.addEventListener('click', async ({ target }) => {
  const button = target.closest?.('button[data-copy]');
  if (!button || button.dataset.copied !== undefined) return;
  const label = button.textContent;
  button.dataset.copied = '';
  button.textContent = (await copied(document.getElementById(button.dataset.copy)))
    ? 'Copied'
    : 'Press Ctrl+C';
  setTimeout(() => {
    button.textContent = label;
    delete button.dataset.copied;
  }, 2000);
});

/** Selects the text as well, so that it can be copied by hand where the browser does not let a page do it. */
async function copied(source) {
  getSelection().selectAllChildren(source);
  try {
    await navigator.clipboard.writeText(source.textContent);
    return true;
  } catch {
    return document.execCommand('copy');
  }
}
