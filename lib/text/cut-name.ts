/** Characters that rows and log lines keep of a name. */
export const maxNameLength = 256

/** Cuts a name that a caller or a server has chosen: nothing else bounds what it adds to rows and lines. */
export function cutName (name: string): string {
  return name.length > maxNameLength ? name.slice(0, maxNameLength) : name
}
