import { keepKey } from './playground-key.js';

/** Links to the playground that take along the key which `data-try` names, beside the address and not in it. */
for (const link of document.querySelectorAll('a[data-try]'))
  link.addEventListener('click', () => {
    const { value } = document.querySelector('input[name="form_token"]');
    keepKey(value, document.getElementById(link.dataset.try).textContent);
  });
