import { projectIdOf } from '../core/key.ts'
import type { RoutedCall } from '../core/call.ts'

/** What a guard learns of the call whose texts it looks at. */
export interface CallFacts {
  /** As the caller sees it, and not unique. */
  readonly id: string
  readonly endpoint: string
  readonly key: { readonly id: string, readonly name: string }
  /** The id of the project of its key. */
  readonly project: string
  /** Models that may answer, best first. */
  readonly models: readonly string[]
}

export function callFacts ({ id, key, record, routes }: RoutedCall<unknown>): CallFacts {
  return {
    id,
    endpoint: record.endpoint,
    key: { id: key.id, name: key.name },
    project: projectIdOf(key),
    models: routes.map(({ modelId }) => modelId)
  }
}
