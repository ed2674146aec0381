import { codeOf, withShortImages } from './playground-code.js';

const element = id => document.getElementById(id);

/** Keeps the code below the form in step with the request that `asked` returns. Returns the function that writes it. */
export function codePanel(asked) {
  const publicUrl = element('public-url');
  const languages = [...document.querySelectorAll('button[data-language]')];
  const write = () => {
    const { language } = languages.find(button => button.ariaPressed === 'true').dataset;
    const request = asked();
    const shown = withShortImages(request);
    element('code').textContent = codeOf(language, shown, publicUrl.value);
    element('code-note').textContent = shown === request ? '' : '. The images are shortened here.';
  };
  publicUrl.value ||= location.origin;
  publicUrl.addEventListener('input', write);
  for (const button of languages)
    button.addEventListener('click', () => {
      for (const other of languages) other.ariaPressed = String(other === button);
      write();
    });
  return write;
}
