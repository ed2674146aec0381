/** The events of a response, each `{ event, data }`, as they come. Comments are left out. */
export async function* eventsOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let held = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (held + value).split('\n\n');
    held = blocks.pop();
    for (const block of blocks) {
      const match = /^event: (.*)\ndata: (.*)$/.exec(block);
      if (match) yield { event: match[1], data: JSON.parse(match[2]) };
    }
  }
}
