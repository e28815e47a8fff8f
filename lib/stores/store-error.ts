/** Says that the store cannot be used; the message names its file and the reason. */
export class StoreError extends Error {
  constructor (path: string, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    super(`The store ${path} cannot be used: ${reason}.`, { cause })
    this.name = 'StoreError'
  }
}

/** Returns true for errors of SQLite itself: the file is locked, full, read-only or damaged. */
export function isDatabaseError (error: unknown): error is Error {
  return error instanceof Error && 'code' in error && error.code === 'ERR_SQLITE_ERROR'
}
