import { projectIdOf } from '../core/key.ts'
import type { RoutedCall } from '../core/call.ts'

/** What a guard learns about the call that it inspects. */
export interface CallFacts {
  /** The id that the caller sees; not unique. */
  readonly id: string
  readonly endpoint: string
  readonly key: { readonly id: string, readonly name: string }
  /** The id of the key's project. */
  readonly project: string
  /** Candidate models, best first. */
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
