/** Holds a request until it is written. */
export interface Writer {
  readonly write: () => void
}

let waiting: Writer[] = []

/**
 * Writes the requests of one turn of the event loop together at its end. Each write wakes a server that waits for work, 10 µs of
 * ours in the kernel; one that is at work already need not be woken.
 */
export function writeAtTurnEnd (writer: Writer): void {
  if (waiting.push(writer) === 1) setImmediate(writeAll)
}

function writeAll (): void {
  const writers = waiting
  waiting = []
  for (const writer of writers) writer.write()
}
