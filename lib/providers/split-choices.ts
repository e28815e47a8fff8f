import type { Ask } from './provider.ts'

/** Splits a request for `n` choices into requests for at most `max` each. */
export function splitChoices<R extends { readonly n?: number | undefined }> (ask: Ask<R>, max: number): Array<Ask<R>> {
  const { n } = ask.request
  if (typeof n !== 'number' || !(n > max)) return [ask] // also for what is no number on endpoints that do not check it
  const parts: Array<Ask<R>> = []
  for (let from = 0; from < n; from += max) {
    const size = Math.min(max, n - from)
    parts.push({ ...ask, request: { ...ask.request, n: size === 1 ? undefined : size } })
  }
  return parts
}
