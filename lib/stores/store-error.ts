/** Errors of the store. */

/** The store cannot be used; the message names the store and the reason. */
export class StoreError extends Error {
  /** @param name the store's file or URL */
  constructor (name: string, cause: unknown) {
    const reason = cause instanceof Error && cause.message !== '' ? cause.message : String(cause)
    super(`The store ${name} cannot be used: ${reason}.`, { cause })
    this.name = 'StoreError'
  }
}

/** Returns true for errors of the database itself: locked, full, read-only, damaged or unreachable. */
export function isDatabaseError (error: unknown): error is Error {
  if (!(error instanceof Error)) return false
  return (
    error instanceof StoreError ||
    ('code' in error && error.code === 'ERR_SQLITE_ERROR') ||
    ('severity' in error && 'routine' in error)
  )
}
