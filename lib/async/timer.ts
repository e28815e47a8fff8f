/** A timer that is waited for as a promise. */
export interface Timer<T> {
  readonly elapsed: Promise<T>
  readonly stop: () => void
}

/** Starts a timer; its promise never rejects, and stays pending once it is stopped. */
export function startTimer<T> (ms: number, value: T): Timer<T> {
  let timer: NodeJS.Timeout | undefined
  const elapsed = new Promise<T>(resolve => { timer = setTimeout(resolve, ms, value) })
  return { elapsed, stop: () => clearTimeout(timer) }
}
