/** What the record of a call says about its request. */

/** What was asked, and how. */
export class RequestFacts {
  /** Method and path of a request to an alias, or to no known endpoint. */
  requestLine: string | undefined = undefined
  /** The HTTP method; absent for a call without an HTTP request. */
  method: string | undefined = undefined
  /** The path of its endpoint, with the names of its parameters. */
  path: string | undefined = undefined
  /** Path and query as the caller wrote them; a query may hold secrets. */
  target: string | undefined = undefined
  /** True if the connection uses TLS. */
  usesTls = false
  /** The other end of the connection. */
  remoteAddress: string | undefined = undefined
  /** As the caller wrote it. */
  requestedModel: string | undefined = undefined
  /** Size of a JSON body, after decompression. */
  bodyBytes = 0
  /** Memory of the stored responses that the request uses. */
  storedInputBytes = 0
  isStreamed: boolean | undefined = undefined
  /** Fields of the request that had no effect, as `x-headgate-ignored` lists them. */
  ignoredFields: string[] | undefined = undefined
  /** The limit of the answer, if the request allowed more than its model or its budget does. */
  maxTokens: number | undefined = undefined
  /** True for a call that only asks for its routes. */
  isDryRun: boolean | undefined = undefined
  /**
   * True if another call delivers the answer: this one got a receipt, or 202 because the answer was not
   * ready.
   */
  isDeferred: boolean | undefined = undefined
}

/** The sizes of a request in memory, in bytes. */
export type RequestSize = Pick<RequestFacts, 'bodyBytes' | 'storedInputBytes'>

/** Returns the size of a request, including the stored responses that it continues. */
export function requestBytes ({ bodyBytes, storedInputBytes }: RequestSize): number {
  return bodyBytes + storedInputBytes
}

/**
 * Each step of a larger request runs in its own turn of the event loop. Checking, translating and printing
 * 60,000 values take 10 to 30 ms each, the first time.
 */
export const sliceBytes = 256 * 1024

/** Returns true for a request so large that each step of it runs in its own turn of the event loop. */
export function needsSlices (request: RequestSize): boolean {
  return requestBytes(request) > sliceBytes
}

/** Copying 60 MB takes 50 ms, and searching them 100 ms. */
const largeRequestBytes = 1024 * 1024

/** Returns true for a request that is printed in slices, and whose text is not kept. */
export function isLargeRequest (request: RequestSize): boolean {
  return requestBytes(request) >= largeRequestBytes
}

const maxIgnoredFields = 20
const maxIgnoredName = 64

/** Records a field of the request that had no effect, once. */
export function noteIgnored (request: Partial<Pick<RequestFacts, 'ignoredFields'>>, name: string): void {
  const ignored = request.ignoredFields ??= []
  const shown = name.slice(0, maxIgnoredName)
  if (ignored.length < maxIgnoredFields && !ignored.includes(shown)) ignored.push(shown)
}
