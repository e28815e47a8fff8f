import type { Call } from './call.ts'
import type { Reply } from './reply.ts'

/** One path of the API, with the form of its body and the pipeline that answers. */
export interface Endpoint {
  /** Stable, used by key scopes, the log and the usage ledger: `chat`, `embeddings`, … */
  readonly name: string
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** In the notation of @koa/router: `/v1/models/*model`. */
  readonly path: string
  readonly body: 'none' | 'json' | 'multipart'
  /** Maximum body in bytes; for a form, of all its files together. A larger body gets 413. */
  readonly maxBodyBytes: number
  /** The field to name in a 413, if only one field of a JSON body can be that large. */
  readonly largeField?: string
  /**
   * True if long base64 strings of a body that is too large for the store are kept as bytes; see
   * `Call.media`.
   */
  readonly keepsMedia?: boolean
  /**
   * JSON bodies of at least this size, except large requests, are kept as received for the duration of the
   * call; see `Call.callerBody`. Default: no body is.
   */
  readonly keepsBodiesFromBytes?: number
  /** True for a further path of an endpoint; the log names the path. */
  readonly isAlias?: boolean
  /** True if the call has the caller's connection; see `Call.connection`. */
  readonly readsConnection?: boolean
  readonly handle: (call: Call) => Promise<Reply>
}
