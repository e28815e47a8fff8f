/** Returns a promise that a test settles itself; `Promise.withResolvers` needs Node 22. */
export function withResolvers<T> (): {
  readonly promise: Promise<T>
  readonly resolve: (value: T) => void
  readonly reject: (error: unknown) => void
} {
  let resolve: (value: T) => void = () => undefined
  let reject: (error: unknown) => void = () => undefined
  const promise = new Promise<T>((give, fail) => {
    resolve = give
    reject = fail
  })
  return { promise, resolve, reject }
}
