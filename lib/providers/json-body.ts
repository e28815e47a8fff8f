import { printInTurns } from '../json/print-in-turns.ts'
import type { Ask, UpstreamRequest } from './provider.ts'

/** Prints a body; that of a large request while it is sent, and what stands in it as the caller sent it from the caller's own bytes. */
export function jsonBody (body: object, { isLarge, media, callerBody }: Pick<Ask<unknown>, 'isLarge' | 'media' | 'callerBody'>): UpstreamRequest['body'] & {} {
  if (isLarge === true) return () => printInTurns(body, media)
  return callerBody === undefined ? JSON.stringify(body) : callerBody.print(body)
}
