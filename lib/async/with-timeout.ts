/** Resolves with the result of `work`, or with `undefined` after `ms` milliseconds. */
export async function withTimeout<T> (ms: number, work: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>(resolve => { timer = setTimeout(resolve, ms, undefined) })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
