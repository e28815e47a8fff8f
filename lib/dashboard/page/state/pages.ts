/**
 * Loads a list page by page: the first page when its dependencies change, the next on request.
 */

import { useRef } from 'preact/hooks'
import { useAction } from './action.ts'
import { useResource, type Resource } from './resource.ts'

interface PageOf<T> {
  readonly data: readonly T[]
  readonly next_cursor: string | null
  readonly searched_from_ms?: number | null
}

export interface Pages<T> extends Omit<Resource<PageOf<T>>, 'data' | 'set'> {
  /** Absent while the first page loads. */
  readonly rows: readonly T[] | undefined
  /** Absent on the last page. */
  readonly more: (() => void) | undefined
  /** How far back the list was searched, if the search ended early. */
  readonly searchedFromMs: number | undefined
  /** Changes rows in place, after one was changed or removed. */
  readonly update: (change: (rows: readonly T[]) => readonly T[]) => void
}

export function usePages<T> (
  key: string,
  load: (cursor: string | undefined, signal?: AbortSignal) => Promise<PageOf<T>>
): Pages<T> {
  const { data, set, ...first } = useResource(key, signal => load(undefined, signal))
  const { run } = useAction()
  const latest = useRef(data)
  latest.current = data
  return {
    ...first,
    rows: data?.data,
    searchedFromMs: data?.searched_from_ms ?? undefined,
    update (change) {
      // A list that is still on its way may be from before the change.
      if (data === undefined || first.loading) void first.reload()
      else set({ ...data, data: change(data.data) })
    },
    more: data === undefined || data.next_cursor === null
      ? undefined
      : () => void run(async () => {
        const next = await load(data.next_cursor ?? undefined)
        // Another filter was chosen meanwhile.
        if (latest.current === data) set({ ...next, data: [...data.data, ...next.data] })
      })
  }
}
