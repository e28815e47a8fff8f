/** How large a request is, and what follows from it: its steps run in slices, and its text is not kept. */

import type { RequestFacts } from './record.ts'

/** The sizes of a request in memory, in bytes. */
export type RequestSize = Pick<RequestFacts, 'bodyBytes' | 'storedInputBytes'>

/** Returns the size of a request, including the stored responses that it continues. */
export function requestBytes ({ bodyBytes, storedInputBytes }: RequestSize): number {
  return bodyBytes + storedInputBytes
}

/**
 * Each step of a larger request runs in its own tick of the event loop. Checking, translating and printing
 * 60,000 values take 10 to 30 ms each, the first time.
 */
export const sliceBytes = 256 * 1024

/** Returns true for a request so large that each step of it runs in its own tick of the event loop. */
export function needsSlices (request: RequestSize): boolean {
  return requestBytes(request) > sliceBytes
}

/** Copying 60 MB takes 50 ms, and searching them 100 ms. */
const largeRequestBytes = 1024 * 1024

/** Returns true for a request that is printed in slices, and whose text is not kept. */
export function isLargeRequest (request: RequestSize): boolean {
  return requestBytes(request) >= largeRequestBytes
}
