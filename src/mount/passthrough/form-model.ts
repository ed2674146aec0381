const field = Buffer.from('name="model"');
/** Bytes from the field's name to the end of its value that are read. */
const max_field_bytes = 512;
/** The value behind the headers of the part. */
const value = /^name="model"(?:;[^\r\n]*)?\r?\n(?:[\w-]+:[^\r\n]*\r?\n)*\r?\n([^\r\n]+)\r?\n/;

/** Finds the field `model` in a multipart body that comes in parts, such as that of a transcription. Takes linear time. */
export class FormModel {
  /** The value; undefined as long as none has come. */
  model: string | undefined;
  #held: Buffer = Buffer.alloc(0);

  write(part: Buffer): void {
    if (this.model !== undefined) return;
    const bytes = Buffer.concat([this.#held, part]);
    for (let at = bytes.indexOf(field); at !== -1; at = bytes.indexOf(field, at + field.length)) {
      this.model = value.exec(bytes.toString('utf8', at, at + max_field_bytes))?.[1];
      if (this.model !== undefined) return;
    }
    // Copied, since the part may be a view of a large block.
    this.#held = Buffer.from(bytes.subarray(-max_field_bytes));
  }
}
