/** The part of the models service that pipelines need. */

import type { CallSession } from '../core/call.ts'
import type { Route } from '../core/route.ts'
import type { ModelEntry } from '../core/model.ts'

export interface ModelRegistry {
  /**
   * Returns the routes of an id as the caller wrote it, best first: one for a model, several for a configured
   * route, none for an unknown or disabled model. A model that the catalogue does not know goes to the
   * enabled provider of its prefix.
   *
   * @param streamed whether the answer will be a stream, for routes that choose the fastest
   * @param session returns the session of the call, for routes that keep a session with its model
   */
  readonly routes: (
    id: string, streamed?: boolean, session?: () => CallSession
  ) => readonly Route[]
  /**
   * Returns the route to one provider, configured or not, for a model named with or without its prefix: for
   * callers who choose the provider. Absent if the operator disabled that model.
   */
  readonly routeTo: (providerId: string, model: string) => Route | undefined
  /** Returns the known id nearest to an unknown one. */
  readonly suggest: (id: string) => string | undefined
  /** Finds a model by its full id, whether or not its provider is enabled. */
  readonly find: (id: string) => ModelEntry | undefined
  /** Every model of an enabled provider that is not hidden, by id. */
  readonly list: () => readonly ModelEntry[]
}
