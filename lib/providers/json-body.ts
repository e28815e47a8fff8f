import { printInTurns } from '../json/print-in-turns.ts'
import type { Ask, UpstreamRequest } from './provider.ts'

/** Prints a body; that of a large request while it is sent. */
export function jsonBody (body: unknown, { isLarge }: Pick<Ask<unknown>, 'isLarge'>): UpstreamRequest['body'] & {} {
  return isLarge === true ? () => printInTurns(body) : JSON.stringify(body)
}
