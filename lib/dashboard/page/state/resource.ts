/**
 * Loads the data of a page, again whenever its dependencies change; the previous data stays until then.
 */

import { useSignal, type Signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { ApiError } from '../api/client.ts'

export interface Resource<T> {
  /** The last answer, even while the next one loads. */
  readonly data: T | undefined
  readonly error: ApiError | undefined
  readonly loading: boolean
  readonly reload: () => Promise<void>
  /** Replaces the answer with the result of a change. */
  readonly set: (data: T) => void
}

/** @param key loads again when it changes; the previous load is aborted */
export function useResource<T> (key: string, load: (signal: AbortSignal) => Promise<T>): Resource<T> {
  const data = useSignal<T | undefined>(undefined)
  const error = useSignal<ApiError | undefined>(undefined)
  const loading = useSignal(true)
  const latest = useRef(load)
  latest.current = load
  const running = useRef<AbortController | undefined>(undefined)

  const reload = async (): Promise<void> => {
    running.current?.abort()
    const controller = new AbortController()
    running.current = controller
    loading.value = true
    const failure = await keep(data, latest.current(controller.signal), controller.signal)
    if (controller.signal.aborted) return
    error.value = failure
    loading.value = false
  }

  useEffect(() => {
    void reload()
    return () => running.current?.abort()
  }, [key])

  return {
    data: data.value,
    error: error.value,
    loading: loading.value,
    reload,
    set: next => {
      data.value = next
    }
  }
}

async function keep<T> (
  data: Signal<T | undefined>,
  answer: Promise<T>,
  signal: AbortSignal
): Promise<ApiError | undefined> {
  try {
    const value = await answer
    if (!signal.aborted) data.value = value
  } catch (error) {
    return ApiError.of(error)
  }
}
