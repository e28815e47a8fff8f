/** A timer that rings as a promise. */
export interface Alarm<T> {
  readonly rings: Promise<T>
  readonly stop: () => void
}

/** Starts an alarm; its promise never rejects, and stays pending once it is stopped. */
export function startAlarm<T> (ms: number, value: T): Alarm<T> {
  let timer: NodeJS.Timeout | undefined
  const rings = new Promise<T>(resolve => { timer = setTimeout(resolve, ms, value) })
  return { rings, stop: () => clearTimeout(timer) }
}
