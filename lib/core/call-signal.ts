/** A listener for an `EventTarget`; an object saves a closure for each signal. */
export type AbortListener = ((event?: unknown) => void) | { readonly handleEvent: () => void }

/**
 * The part of an `AbortSignal` that stages use. `standardSignal` of `async/cancellation` returns a real one.
 */
export interface CallSignal {
  readonly aborted: boolean
  readonly reason: unknown
  readonly addEventListener: (
    type: 'abort',
    listener: AbortListener,
    options?: { readonly once?: boolean }
  ) => void
  readonly removeEventListener: (type: 'abort', listener: AbortListener) => void
  readonly throwIfAborted: () => void
}
