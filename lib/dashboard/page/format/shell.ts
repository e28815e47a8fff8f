/** Prints a text as one word of a shell: quoted unless it is plain. */
export function shellWord (text: string): string {
  return /^[\w./:@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}
