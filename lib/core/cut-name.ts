/** Maximum characters of a name in rows and log lines. */
export const maxNameLength = 256

/** Truncates a name from a caller or a server: nothing else limits its size in rows and log lines. */
export function cutName (name: string): string {
  return name.length > maxNameLength ? name.slice(0, maxNameLength) : name
}
