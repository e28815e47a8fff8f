/** Prints a value for a column of JSON; `null` if there is none. */
export function jsonColumn (value: object | null | undefined): string | null {
  return value === undefined || value === null ? null : JSON.stringify(value)
}
