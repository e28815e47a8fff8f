/** Holds a request until it is written. */
export interface Writer {
  readonly write: () => void
}

let waiting: Writer[] = []

/**
 * Writes requests after the event loop has polled its sockets once more. What a provider wrote to an idle connection is read before
 * that, so it is never taken for the answer to a request. One `setImmediate` is not enough: from a callback of a socket it runs
 * before the next poll.
 */
export function writeInNextTurn (writer: Writer): void {
  if (waiting.push(writer) === 1) setImmediate(() => setImmediate(writeAll))
}

function writeAll (): void {
  const writers = waiting
  waiting = []
  for (const writer of writers) writer.write()
}
