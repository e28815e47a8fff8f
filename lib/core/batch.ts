import type { Route } from './route.ts'
import type { RoutedCall } from './call.ts'

/**
 * The events of one network read, and the call they answer. Stages loop over `events` with a plain `for` and
 * yield once per batch. A stage costs a quarter of a microsecond; one `await` per event would cost more than
 * everything else done to the event.
 */
export interface Batch<R, E> {
  readonly call: RoutedCall<R>
  /** The route that answers: one of `call.routes`, the same in every batch of a call. */
  readonly route: Route
  readonly events: readonly E[]
}
