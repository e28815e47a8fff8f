/** Counts the ticks that the event loop has for others while some work runs. */
export async function ticksDuring (work: () => Promise<unknown>): Promise<number> {
  let ticks = 0
  let isDone = false
  const tick = (): void => {
    ticks++
    if (!isDone) setImmediate(tick)
  }
  setImmediate(tick)
  try {
    await work()
  } finally {
    isDone = true
  }
  return ticks
}
