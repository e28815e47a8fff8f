/** Removes trailing slashes. A loop: `/\/+$/` takes quadratic time for slashes in the middle. */
export function withoutTrailingSlashes (text: string): string {
  let end = text.length
  while (text.endsWith('/', end)) end--
  return text.slice(0, end)
}
