/** Says that the store cannot be used; the message names it and the reason. */
export class StoreError extends Error {
  /** @param name its file, or its address */
  constructor (name: string, cause: unknown) {
    const reason = cause instanceof Error && cause.message !== '' ? cause.message : String(cause)
    super(`The store ${name} cannot be used: ${reason}.`, { cause })
    this.name = 'StoreError'
  }
}

/** Returns true for errors of the database itself: it is locked, full, read-only, damaged or away. */
export function isDatabaseError (error: unknown): error is Error {
  if (!(error instanceof Error)) return false
  return (
    error instanceof StoreError ||
    ('code' in error && error.code === 'ERR_SQLITE_ERROR') ||
    ('severity' in error && 'routine' in error)
  )
}
