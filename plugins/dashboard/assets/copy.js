/** Buttons that copy what stands in the element which `data-copy` names. */
for (const button of document.querySelectorAll('button[data-copy]')) {
  const label = button.textContent;
  button.hidden = false;
  button.addEventListener('click', async () => {
    const source = document.getElementById(button.dataset.copy);
    button.textContent = (await copied(source)) ? 'Copied' : 'Press Ctrl+C';
    setTimeout(() => {
      button.textContent = label;
    }, 2000);
  });
}

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
