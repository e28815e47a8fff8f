/**
 * Turns the event loop until the condition holds.
 *
 * @param what is waited for, as the error says it: 'three lines in the log'
 * @throws Error once the deadline has passed
 */
export async function until (condition: () => boolean, what: string, ms = 5000): Promise<void> {
  const deadline = performance.now() + ms
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`waited ${ms} ms for ${what}`)
    await new Promise(resolve => { setImmediate(resolve) })
  }
}
