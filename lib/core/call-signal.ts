/** The part of an `AbortSignal` that stages use. `standardSignal` of `async/cancellation` makes a real one. */
export interface CallSignal {
  readonly aborted: boolean
  readonly reason: unknown
  readonly addEventListener: (type: 'abort', listener: (event?: unknown) => void, options?: { readonly once?: boolean }) => void
  readonly removeEventListener: (type: 'abort', listener: (event?: unknown) => void) => void
  readonly throwIfAborted: () => void
}
