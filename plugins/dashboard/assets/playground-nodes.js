/** A new element. Children that are strings become text, never markup; `false` and `undefined` are left out. */
export function node(tag, properties = {}, ...children) {
  const { data = {}, ...own } = properties;
  const made = Object.assign(document.createElement(tag), own);
  Object.assign(made.dataset, data);
  made.append(...children.filter(child => child !== false && child !== undefined));
  return made;
}

/** A button that sends no form. */
export function button(label, onClick, className = 'small') {
  const made = node('button', { type: 'button', className }, label);
  made.addEventListener('click', onClick);
  return made;
}

/** Shows a field in place of `shown` until it is saved or left, and then calls `save` with what was typed. */
export function editInPlace(shown, label, text, save) {
  const field = node('textarea', { className: 'wide', rows: 5, value: text, ariaLabel: label });
  const close = () => {
    editor.remove();
    shown.hidden = false;
  };
  const keep = () => {
    close();
    save(field.value);
  };
  const editor = node('div', { className: 'stack editor' }, field);
  editor.append(node('div', { className: 'row' }, button('Save', keep), button('Leave as it was', close)));
  editor.addEventListener('keydown', event => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) keep();
    else if (event.key === 'Escape') close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  shown.hidden = true;
  shown.after(editor);
  field.focus();
}
