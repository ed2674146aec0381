/** Proposes the zone of this browser to those who have chosen none. */
const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
const field = document.querySelector('select[name="zone"]');
if (field.value === 'UTC') {
  if (![...field.options].some(({ value }) => value === timeZone)) field.add(new Option(timeZone, timeZone));
  field.value = timeZone;
}
