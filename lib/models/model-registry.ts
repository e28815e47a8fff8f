/** Defines what pipelines need of the model catalogue. */

import type { CallSession } from '../core/call-session.ts'
import type { Route } from '../core/route.ts'
import type { ModelEntry } from '../core/model.ts'

export interface ModelRegistry {
  /**
   * Routes for one id as the caller wrote it, best first: one for a model, several for a
   * configured route, none for an unknown or disabled one. A model that the catalogue does not
   * know goes to the enabled provider its prefix names.
   *
   * @param streamed whether the answer is to be a stream, for routes that look for the fastest
   * @param session returns the session of the call, for routes that keep one with its model
   */
  readonly routes: (
    id: string, streamed?: boolean, session?: () => CallSession
  ) => readonly Route[]
  /**
   * The route to one provider, configured or not, for a model named with or without its prefix:
   * for callers who choose the provider. Absent when the operator disabled that model.
   */
  readonly routeTo: (providerId: string, model: string) => Route | undefined
  /** The known id nearest to one that was not found. */
  readonly suggest: (id: string) => string | undefined
  /** Finds a model by its full id, whether or not its provider is enabled. */
  readonly find: (id: string) => ModelEntry | undefined
  /** Every model of an enabled provider that is not hidden, by id. */
  readonly list: () => readonly ModelEntry[]
}
