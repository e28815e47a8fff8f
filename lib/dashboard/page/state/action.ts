/** Runs the action of a button: once at a time, with the error shown where it happened. */

import { useSignal } from '@preact/signals'
import { ApiError } from '../api/client.ts'

export interface Action {
  readonly busy: boolean
  readonly error: ApiError | undefined
  readonly run: (work: () => Promise<void>) => Promise<void>
}

export function useAction (): Action {
  const busy = useSignal(false)
  const error = useSignal<ApiError | undefined>(undefined)
  return {
    busy: busy.value,
    error: error.value,
    async run (work) {
      if (busy.peek()) return
      busy.value = true
      error.value = undefined
      try {
        await work()
      } catch (failure) {
        error.value = ApiError.of(failure)
      } finally {
        busy.value = false
      }
    }
  }
}
