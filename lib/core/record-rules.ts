import type { CaptureBodies } from './body-capture.ts'
import type { CallTrace } from './call-trace.ts'
import type { Call } from './call.ts'
import type { ApiKey } from './key.ts'

/** What the configuration says about the records of calls: by key, by endpoint and by route. */
export interface RecordRules {
  /** Starts the trace of a call from its request headers. Absent if traces are not exported. */
  readonly beginTrace?: ((headers: Call['headers']) => CallTrace) | undefined
  /** Absent if no bodies are stored. */
  readonly captureBodies?: CaptureBodies | undefined
  /** Endpoints whose requests may be stored only after guards have inspected them. Absent without guards. */
  readonly inspectedEndpoints?: ReadonlySet<string> | undefined
  /** Returns true for a key that may not see costs. Absent if all keys may. */
  readonly hidesCost?: ((key: ApiKey) => boolean) | undefined
  /** Lists the configured tags of a key. Absent if there are none. */
  readonly ownTags?: ((key: ApiKey) => readonly string[]) | undefined
  /** Lists the configured tags of routes by name. Absent if there are none. */
  readonly routeTags?: ((names: readonly string[]) => readonly string[]) | undefined
  /** True to record `metadata` values that are not strings instead of refusing them. */
  readonly acceptsAnyMetadata?: boolean | undefined
  /** Returns a function that digests end user names in calls of a key. Absent if names are stored. */
  readonly digestEndUsers?: ((key: ApiKey) => (name: string) => string) | undefined
}
