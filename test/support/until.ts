/** The originals of Node.js, even if a test replaces them. */
const { setImmediate: immediate, setTimeout: later } = globalThis
/** Consecutive ticks of the event loop in which most conditions come true; slower ones take milliseconds. */
const turnsInARow = 100
/** Allows for a machine that runs other tests at the same time; only failures take this long. */
const patienceMs = 60_000

/**
 * Turns the event loop until the condition holds: at once at first, then every millisecond, so that a waiting
 * test leaves the processor to others.
 * @param what is waited for, for the error: 'three lines in the log'
 * @throws Error at the deadline
 */
export async function until (
  condition: () => boolean | Promise<boolean>,
  what: string,
  ms = patienceMs
): Promise<void> {
  const deadline = performance.now() + ms
  for (let turn = 0; !await condition(); turn++) {
    if (performance.now() > deadline) throw new Error(`waited ${ms} ms for ${what}`)
    await new Promise(resolve => { if (turn < turnsInARow) immediate(resolve); else later(resolve, 1) })
  }
}

/**
 * Polls a value until it is as wanted, and returns it.
 * @throws Error at the deadline
 */
export async function eventually<T> (
  look: () => Promise<T>,
  isDone: (value: T) => boolean,
  what: string,
  ms?: number
): Promise<T> {
  let value = await look()
  await until(async () => {
    if (!isDone(value)) value = await look()
    return isDone(value)
  }, what, ms)
  return value
}

/**
 * Reads a stream until a text has come, and leaves the rest unread.
 * @throws Error if it ends before
 */
export async function readUntil (
  reader: ReadableStreamDefaultReader<Uint8Array> | undefined,
  text: string
): Promise<void> {
  let read = ''
  await until(async () => {
    if (read.includes(text)) return true
    const next = await reader?.read()
    if (next === undefined || next.done) throw new Error(`the stream ended before ${text}`)
    read += Buffer.from(next.value).toString()
    return read.includes(text)
  }, text)
}

/** Waits for an event that a test cannot poll for, with a deadline. */
export async function settles<T> (promise: Promise<T>, what: string, ms = patienceMs): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`waited ${ms} ms for ${what}`)), ms)
  })
  return await Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

/**
 * Turns the event loop until a timeout of the code under test has passed: for tests of what must, or must
 * not, happen after it.
 */
export async function outlast (boundMs: number): Promise<void> {
  const endMs = performance.now() + boundMs * 1.5
  await until(() => performance.now() >= endMs, 'the bound to pass', boundMs * 2 + 5000)
}
