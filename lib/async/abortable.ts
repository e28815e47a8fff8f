import type { CallSignal } from '../core/call-signal.ts'

/**
 * Resolves as `work` does, or rejects with the signal's reason as soon as it aborts: for work that goes
 * on for others or is slow to notice. Nothing is left listening.
 */
export async function abortable<T> (work: Promise<T>, signal: CallSignal): Promise<T> {
  return await new Promise<T>((resolve, reject) => {
    const stop = (): void => reject(signal.reason)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}
